# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a BMesh that point into its memory: coordinates, UVs, colours, weights and skin of its elements.

Such a value does not know its element, so Blender cannot invalidate it when it frees that memory: where a script makes
or removes a layer, all layers of all elements move. So the sandbox notes the values that the script holds before such
a step, and looks for them after it. A vector whose memory is gone gets memory of its own; any other value points at
zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from ..layout import address
from ..memory import cut_loose
from .drawn import place_of

__all__ = ("KINDS", "LINKED", "MeshPointers", "note")

#: Kinds of layers whose values are references.
KINDS = ("color", "deform", "float_color", "float_vector", "skin", "uv")
#: The kinds whose values lie in the first bytes of an element's data: see `removals`.
LINKED = frozenset({"color", "deform", "skin"})


class MeshPointers(NamedTuple):
    """The values that the script holds of BMeshes, noted before a step that may free their memory."""

    values: list[tuple[Any, list[float]]]
    """Each reference, with its numbers if it is a vector."""
    meshes: list[Any]
    witnesses: list[Any]
    """An element of each kind: where layers move, Blender invalidates all references to elements."""

    def renew(self) -> list[Any]:
        """Cut loose the values whose memory is gone; return memory that has to live as long as these values."""
        if not self.values or (self.witnesses and all(each.is_valid for each in self.witnesses)):
            return []
        left = {address(value) for value, _ in self.values}
        for mesh in self.meshes:
            if left and mesh.is_valid:
                left -= _coordinates(mesh, left)
            if left and mesh.is_valid:
                left.difference_update(_of_layers(mesh, {kind for _, kind in left}))
        return [cut_loose(value, numbers) for value, numbers in self.values if address(value) in left]


def note(values: Iterable[Any], meshes: Iterable[Any]) -> MeshPointers:
    """Note values that point into the memory of these meshes."""
    valid = [mesh for mesh in meshes if mesh.is_valid]
    found = [(value, list(value) if hasattr(value, "is_wrapped") else []) for value in values]
    return MeshPointers(found, valid, [each for mesh in valid for each in _witnesses(mesh)] if found else [])


def _witnesses(mesh: Any) -> Iterator[Any]:
    for elements in (mesh.verts, mesh.edges, mesh.faces):
        yield from islice(elements, 1)
    for face in islice(mesh.faces, 1):
        yield face.loops[0]


def _coordinates(mesh: Any, wanted: set[tuple[int, type]]) -> set[tuple[int, type]]:
    """Return those of the `wanted` addresses that are coordinates or normals of a mesh.

    They lie as far from each element as the first element's from the first element.
    """
    found: set[tuple[int, type]] = set()
    for elements, members in ((mesh.verts, ("co", "normal")), (mesh.faces, ("normal",))):
        for first in islice(elements, 1):
            for member in members:
                at, kind = address(getattr(first, member))
                offset = at - place_of(first)
                owners = {place - offset for place, other in wanted if other is kind}
                found.update((place + offset, kind) for place in owners.intersection(map(place_of, elements)))
    return found


def _of_layers(mesh: Any, kinds: set[type]) -> Iterator[tuple[int, type]]:
    """Yield the addresses of the layer values of a mesh, for the layers whose values have these types."""

    def loops() -> Iterator[Any]:
        return (loop for face in mesh.faces for loop in face.loops)

    for layers, elements in (
        (mesh.verts.layers, mesh.verts.__iter__),
        (mesh.edges.layers, mesh.edges.__iter__),
        (mesh.faces.layers, mesh.faces.__iter__),
        (mesh.loops.layers, loops),
    ):
        for layer in [layer for kind in KINDS for layer in getattr(layers, kind, _NONE).values()]:
            of_first = [
                address(value)[1] for first in islice(elements(), 1) for value in _values(first[layer])
            ]
            if not kinds.isdisjoint(of_first):
                for element in elements():
                    yield from map(address, _values(element[layer]))


def _values(value: Any) -> Iterator[Any]:
    """Yield the value of an element in a layer, and the vectors in the same memory."""
    yield value
    for member in _VECTORS_OF.get(type(value).__name__, ()):
        yield getattr(value, member)


_NONE: dict[str, Any] = {}
#: Members that are vectors in the same memory.
_VECTORS_OF = {"BMLoopUV": ("uv",), "BMVertSkin": ("radius",)}
