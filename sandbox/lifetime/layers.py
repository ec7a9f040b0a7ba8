# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves references to layers of meshes, curves and drawings when Blender makes another layer.

The layers of a domain lie in one array, in the order of their types. Blender puts a new layer between the others, or
moves all of them to a longer array, and updates no reference: a reference then points to another layer, whose items
have another size, or into freed memory. Blender makes some layers when a script merely sets a flag (`edge.use_seam`,
`polygon.material_index`), writes a weight or looks for one. So once a script uses a layer, the sandbox notes where the
layers lie before whatever may make one, and moves the references afterwards.
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

__all__ = ("WRITTEN", "Layers", "follow", "layer_addresses", "may_make", "owner_of")

WRITTEN = ROOTS - ATTRIBUTE_VALUES - {"MeshLoopColor"}
"""Structs whose flags lie in layers: vertices, edges, faces and corners, curves and points."""
_MAKING = names("structs whose functions make layers")
_OBJECT = bpy.types.Object
_WITH_LAYERS = tuple(kind for kind in bpy.types.ID.__subclasses__() if "attributes" in kind.bl_rna.properties)

Layers = dict[int, tuple[int, str]]
"""The drawing (0 for the data-block itself) and the name of each layer, by the layer's address."""


def may_make(struct: str, function: str) -> bool:
    """Return whether `struct.function` may make layers of its object. Of an Object's functions, only shape keys do."""
    return struct in _MAKING or (struct == "Object" and function == "shape_key_add")


def owner_of(value: Any) -> Any:
    """Return the data-block whose layers a write to `value`, or a function of it, may move; None if it has none."""
    block = value.id_data
    if isinstance(block, _OBJECT):
        block = block.data
    return block if isinstance(block, _WITH_LAYERS) else None


def layer_addresses(block: Any) -> Layers:
    """Return the addresses of the layers of a data-block, with their names."""
    groups = (*attributes(block), (0, getattr(block, "skin_vertices", ())))
    return {layer.as_pointer(): (drawing, layer.name) for drawing, layers in groups for layer in layers}


def follow(references: Iterable[Any], before: Layers, after: Layers, new: list[Any]) -> None:
    """Point references at the new addresses of their layers, except `new` ones; cut off those whose layer is gone."""
    now = {name: address for address, name in after.items()}
    for reference in references:
        _block, struct, item = pointers(reference)
        if struct == 0 or item not in before:  # was cut off, or refers to something else
            continue
        if any(reference is each for each in new):
            continue
        to = now.get(before[item])
        if to is None:
            memory.cut_off(reference)
        elif to != item:
            memory.move(reference, to)
