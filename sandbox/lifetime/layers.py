# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves references to layers of meshes, curves and drawings when Blender makes another layer.

The layers of a domain lie in one array, in the order of their types. Blender puts a new layer between the others, or
moves all of them to a longer array, and updates no reference: a reference then points to another layer, whose items
have another size, or into freed memory. Blender makes some layers when a script merely sets a flag (`edge.use_seam`,
`polygon.material_index`), writes a weight or looks for one. So once a script uses a layer, the sandbox notes where the
layers lie before whatever may make one, and moves the references afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import bpy

from ..facts.members import names
from ..guard.meter import closed
from . import memory
from .existing import ATTRIBUTE_VALUES, attributes
from .held import Held
from .layout import pointers
from .references import ROOTED, references
from .sharing import ROOTS

__all__ = ("WRITTEN", "LayerReferences", "may_make", "owner_of")

WRITTEN = ROOTS - ATTRIBUTE_VALUES - {"MeshLoopColor"}
"""Structs whose flags lie in layers: vertices, edges, faces and corners, curves and points."""
_MAKING = names("structs whose functions make layers")
_OBJECT = bpy.types.Object
_WITH_LAYERS = tuple(kind for kind in bpy.types.ID.__subclasses__() if "attributes" in kind.bl_rna.properties)

_LayerNames = dict[int, tuple[int, str]]
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


class LayerReferences:
    """The references to layers that the script of one run holds.

    References are written only inside the context that `writing` returns.
    """

    def __init__(self, held: Held, writing: Callable[[], AbstractContextManager[None]]) -> None:
        self._held, self._writing = held, writing
        self.used = False
        """Whether the script has used layers of a mesh, of curves or of a drawing."""
        self.fitting: set[tuple[Any, str]] = set()
        """Meshes, each with a flag whose layer is as Blender needs it."""
        self._made: set[tuple[Any, str]] = set()
        """The flags whose layer already exists, each with its data-block."""

    def forget(self) -> None:
        """Forget which flags have their layers, after a step that may remove layers."""
        self._made.clear()
        self.fitting.clear()

    def block_of_new(self, value: Any, flag: str = "") -> Any:
        """Return the data-block in which a change of `value` may make a layer; None if it makes none.

        `flag`: the only flag that may get its layer.
        """
        block = owner_of(value) if self.used else None
        return None if block is None or (block, flag) in self._made else block

    @contextlib.contextmanager
    def keep(self, value: Any, flag: str = "") -> Iterator[list[Any]]:
        """Keep the script's references to layers right while `value` changes inside this context.

        At the end, references follow their layers to new addresses. The context gives a list: what is put into it is a
        new reference, which has the new address already. `flag`: the only flag that may get its layer.
        """
        new: list[Any] = []
        block = self.block_of_new(value, flag)
        if block is None:
            yield new
            return
        before = _addresses(block)
        try:
            yield new
        finally:
            self._follow(block, before, new)
        if flag:
            self._made.add((block, flag))

    @closed("whether what the script holds of layers is still there")
    def _follow(self, block: Any, before: _LayerNames, new: list[Any]) -> None:
        """Point references at the new addresses of their layers; cut off those whose layer is gone."""
        after = _addresses(block)
        if after == before:
            return
        now = {name: address for address, name in after.items()}
        with self._writing():
            for reference in references(self._held.find(ROOTED)):
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


def _addresses(block: Any) -> _LayerNames:
    """Return the addresses of the layers of a data-block, with their names."""
    groups = (*attributes(block), (0, getattr(block, "skin_vertices", ())))
    return {layer.as_pointer(): (drawing, layer.name) for drawing, layers in groups for layer in layers}
