# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a BMesh that point into its memory: coordinates, UVs, colours, weights and skin of its elements.

They know nothing of the element that they are of, so Blender cannot tell when it frees what they point to: where a
layer is made or removed, all layers of all elements move. What the script holds is noted before such a step and looked
up after it. What points nowhere any more becomes a vector of its own, or points at zeros.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import bmesh

from .properties import words

__all__ = ("KINDS", "LINKED", "Lent", "cut_loose", "note")

#: Kinds of layers whose values are references.
KINDS = ("color", "deform", "float_color", "float_vector", "skin", "uv")
#: Those whose values lie in the first bytes of an element's data: see `bmesh_removals`.
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
        if not all(_places().values()):  # another Blender's: they are left as they are
            return []
        there: defaultdict[int, set[type]] = defaultdict(set)
        for mesh in self.meshes:
            if mesh.is_valid:
                for value in _lent_by(mesh):
                    there[_address(value)].add(_kind(value))
        return [
            cut_loose(value, numbers)
            for value, numbers in self.values
            if _kind(value) not in there.get(_address(value), ())
        ]


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


# --- where they point ---------------------------------------------------------------------------------------


def _pointing(value: Any) -> Any:
    """What has the pointer: of a byte colour, whose numbers are worked out at each use, its owner."""
    return value if getattr(value, "owner", None) is None else value.owner


def _kind(value: Any) -> type:
    return type(_pointing(value))


def _address(value: Any) -> int:
    pointing = _pointing(value)
    return int(words(pointing)[_places()[type(pointing)][0]])


def cut_loose(value: Any, numbers: Iterable[float] = ()) -> Any:
    """Let a reference point at memory of its own, which is returned."""
    pointing = _pointing(value)
    memory: Any = (ctypes.c_float * 256)(*(numbers if pointing is value else ()))
    for place in _places()[type(pointing)]:
        words(pointing)[place] = ctypes.addressof(memory)
    return memory


@cache
def _places() -> dict[type, tuple[int, ...]]:
    """Which words of a reference are its pointers, by type: those that two of one element have in common, found in a
    mesh whose elements are known."""
    mesh = bmesh.new()
    layers = [mesh.verts.layers.deform.new("d"), mesh.verts.layers.skin.new("s")]
    on_loops = [mesh.loops.layers.uv.new("u"), mesh.loops.layers.color.new("c")]
    try:
        for _ in range(3):
            mesh.faces.new([mesh.verts.new((0, 0, 0)) for _ in range(3)])
        rows = [[vertex.co, *(vertex[layer] for layer in layers)] for vertex in mesh.verts]
        again = [[vertex.co, *(vertex[layer] for layer in layers)] for vertex in mesh.verts]
        loops = [loop for face in mesh.faces for loop in face.loops]
        rows = [
            row + [_pointing(loop[layer]) for layer in on_loops]
            for row, loop in zip(rows, loops, strict=True)
        ]
        again = [
            row + [_pointing(loop[layer]) for layer in on_loops]
            for row, loop in zip(again, loops, strict=True)
        ]
        columns = zip(zip(*rows, strict=True), zip(*again, strict=True), strict=True)
        return {type(values[0]): _common(values, same) for values, same in columns}
    finally:
        mesh.free()


def _common(values: tuple[Any, ...], same: tuple[Any, ...]) -> tuple[int, ...]:
    memory = [list(words(value)) for value in values]
    others = [list(words(value)) for value in same]
    return tuple(
        place
        for place in range(2, len(memory[0]))
        if all(a[place] == b[place] for a, b in zip(memory, others, strict=True))
        and len({each[place] for each in memory}) == len(memory)
    )
