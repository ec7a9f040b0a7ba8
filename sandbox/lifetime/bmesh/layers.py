# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a BMesh that point into its memory: coordinates, UVs, colours, weights and skin of its elements.

They know nothing of the element that they are of, so Blender cannot tell when it frees what they point to: where a
layer is made or removed, all layers of all elements move. What the script holds is noted before such a step and looked
up after it. What points nowhere any more becomes a vector of its own, or points at zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from ..layout import address
from ..memory import cut_loose

__all__ = ("KINDS", "LINKED", "Lent", "note")

#: Kinds of layers whose values are references.
KINDS = ("color", "deform", "float_color", "float_vector", "skin", "uv")
#: Those whose values lie in the first bytes of an element's data: see `removals`.
LINKED = frozenset({"color", "deform", "skin"})


class Lent(NamedTuple):
    """What is held of the memory of BMeshes before a step that may free it."""

    values: list[tuple[Any, list[float]]]
    """Each reference, and a vector's numbers."""
    meshes: list[Any]
    witnesses: list[Any]
    """An element of each kind: where layers move, Blender invalidates all references to elements."""

    def renew(self) -> list[Any]:
        """Cut loose what points nowhere any more; gives memory that has to live as long as the references."""
        if not self.values or (self.witnesses and all(each.is_valid for each in self.witnesses)):
            return []
        there = {address(value) for mesh in self.meshes if mesh.is_valid for value in _lent_by(mesh)}
        return [cut_loose(value, numbers) for value, numbers in self.values if address(value) not in there]


def note(values: Iterable[Any], meshes: Iterable[Any]) -> Lent:
    """Note references into the memory of these meshes."""
    valid = [mesh for mesh in meshes if mesh.is_valid]
    found = [(value, list(value) if hasattr(value, "is_wrapped") else []) for value in values]
    return Lent(found, valid, [each for mesh in valid for each in _witnesses(mesh)] if found else [])


def _witnesses(mesh: Any) -> Iterator[Any]:
    for elements in (mesh.verts, mesh.edges, mesh.faces):
        yield from islice(elements, 1)
    for face in islice(mesh.faces, 1):
        yield face.loops[0]


def _lent_by(mesh: Any) -> Iterator[Any]:
    """All that a mesh gives references to."""
    for vertex in mesh.verts:
        yield from (vertex.co, vertex.normal)
    for face in mesh.faces:
        yield face.normal
    loops = (loop for face in mesh.faces for loop in face.loops)
    for sequence, elements in (
        (mesh.verts, mesh.verts),
        (mesh.edges, mesh.edges),
        (mesh.faces, mesh.faces),
        (mesh.loops, loops),
    ):
        layers = [layer for kind in KINDS for layer in getattr(sequence.layers, kind, _NONE).values()]
        for element in elements if layers else ():
            for layer in layers:
                value = element[layer]
                yield value
                for member in _VECTORS_OF.get(type(value).__name__, ()):
                    yield getattr(value, member)


_NONE: dict[str, Any] = {}
#: Members that are vectors in the same memory.
_VECTORS_OF = {"BMLoopUV": ("uv",), "BMVertSkin": ("radius",)}
