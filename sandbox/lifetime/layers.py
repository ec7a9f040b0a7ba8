# SPDX-License-Identifier: GPL-3.0-or-later
"""References to layers of meshes, curves and drawings follow them when Blender makes another layer.

The layers of a domain lie in one array, in the order of their types. Blender puts a new one between the others, or
moves them all to a longer array, and tells nobody: a reference then points to another layer, whose items have another
size, or into freed memory. It makes some when a script merely sets a flag (`edge.use_seam`,
`polygon.material_index`), gives a weight or looks for one. So once a script has come to a layer, its references are
noted before whatever may make one, and follow afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from ..facts.members import names
from . import memory
from .existing import ATTRIBUTE_VALUES, attributes
from .layout import pointers
from .sharing import ROOTS

__all__ = ("WRITTEN", "Layers", "follow", "may_make", "noted", "owner_of")

WRITTEN = ROOTS - ATTRIBUTE_VALUES - {"MeshLoopColor"}
"""Structs of which the flags lie in layers: vertices, edges, faces and corners, curves and points."""
_MAKING = names("structs whose functions make layers")
_OBJECT = bpy.types.Object
_WITH_LAYERS = tuple(kind for kind in bpy.types.ID.__subclasses__() if "attributes" in kind.bl_rna.properties)

Layers = dict[int, tuple[int, str]]
"""By the address of a layer: the drawing that it belongs to, 0 for the data-block, and its name."""


def may_make(struct: str, function: str) -> bool:
    """Whether `struct.function` may make layers of what it is called on. Of objects, only shape keys touch the data."""
    return struct in _MAKING or (struct == "Object" and function == "shape_key_add")


def owner_of(value: Any) -> Any:
    """Return the data-block whose layers a write to `value`, or a function of it, may move; None where it has none."""
    block = value.id_data
    if isinstance(block, _OBJECT):
        block = block.data
    return block if isinstance(block, _WITH_LAYERS) else None


def noted(block: Any) -> Layers:
    """Return where the layers of a data-block lie."""
    groups = (*attributes(block), (0, getattr(block, "skin_vertices", ())))
    return {layer.as_pointer(): (drawing, layer.name) for drawing, layers in groups for layer in layers}


def follow(references: Iterable[Any], before: Layers, after: Layers, new: list[Any]) -> None:
    """Let references to layers point where those lie now; those whose layer is gone are cut off, `new` ones left."""
    now = {name: address for address, name in after.items()}
    for reference in references:
        _block, struct, item = pointers(reference)
        if struct == 0 or item not in before:  # it was cut off, or is of something else
            continue
        if any(reference is each for each in new):
            continue
        to = now.get(before[item])
        if to is None:
            memory.cut_off(reference)
        elif to != item:
            memory.move(reference, to)
