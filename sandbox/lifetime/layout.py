# SPDX-License-Identifier: GPL-3.0-or-later
"""Knows how this Blender lays out its references in memory: reads where they point, and never writes.

The place of each word is not guessed: it is found in references whose pointers are known. If that fails, the place is
unknown, and whoever needs it gets `CannotCut`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import bmesh
import bpy

from ...base.per_type import PerType, is_static
from ..guard import audit

__all__ = (
    "IS_PART",
    "RNA",
    "STRUCTS",
    "CannotCut",
    "Pointers",
    "address",
    "address_of_mesh",
    "are_known",
    "counts_of_mesh",
    "first_word",
    "known_part_words",
    "mesh_word",
    "part_pointers",
    "part_words",
    "pointers",
    "pointing_value",
    "value_words",
    "words",
    "words_now",
)

_WORD = ctypes.sizeof(ctypes.c_void_p)
_STRUCT = bpy.types.bpy_struct


class CannotCut(Exception):
    """A reference has an unexpected layout, or must not be written: its memory is unchanged."""


def words(reference: Any) -> Any:
    """Return the memory of a Python object as an array of words."""
    return _ARRAYS[type(reference)].from_address(id(reference))


_SIZES: PerType[int] = PerType(lambda kind: kind.__basicsize__ // _WORD, _STRUCT)
_ARRAYS: PerType[Any] = PerType(lambda kind: ctypes.c_size_t * _SIZES[kind], _STRUCT)


#: The address of the RNA type of a struct, by the Python type of its references.
RNA = PerType(lambda kind: kind.bl_rna.as_pointer(), _STRUCT)  # type: ignore[attr-defined]


STRUCTS = PerType(lambda kind: (id(kind), RNA[kind]), _STRUCT)
"""The address of a Python type of references, and of its RNA type."""
_pointer = ctypes.pointer(ctypes.c_size_t())
_aim = ctypes.c_size_t.from_address(ctypes.addressof(_pointer))


def words_now(reference: Any) -> Any:
    """Return the memory of a Python object, for use at once: the next call points the same words at another object.

    A script may hold a million references, and each call of `words` costs the audit wall a check.
    """
    _aim.value = id(reference)
    return _pointer


# --- where references point ---------------------------------------------------------------------------------


class Pointers(NamedTuple):
    """The addresses in a reference to a struct, or to a collection, array or function of one; 0 for none."""

    block: int
    """The data-block."""
    struct: int
    """The RNA type of the struct."""
    item: int
    """The struct itself."""


@cache
def are_known() -> bool:
    """Return whether this Blender's layout is known of all kinds of references that the sandbox reads or writes."""
    return (
        first_word() is not None
        and part_words() is not None
        and mesh_word() is not None
        and all(value_words().values())
    )


def pointers(reference: Any) -> Pointers:
    """Return where a struct, collection, array or function of Blender's points, and read nothing at that place."""
    first = first_word()
    if first is None or _SIZES[type(reference)] < first + 3:
        raise CannotCut("it is not known how this Blender lays out references")
    return Pointers._make(words_now(reference)[first : first + 3])


@cache
def first_word() -> int | None:
    """Return which word of a reference is the pointer to the data-block: the type and the item are the next two.

    It is found in a collection, an array and a function as well as in structs: all have to agree.
    """
    scene = bpy.data.scenes[0]
    render, own = scene.render, scene.bl_rna.as_pointer()
    of_render = [scene.as_pointer(), render.bl_rna.as_pointer(), render.as_pointer()]
    of_scene = [scene.as_pointer(), own, scene.as_pointer()]
    known = [
        (render, of_render),
        (render.views, of_render),
        (render.stamp_foreground, of_render),
        (scene.frame_set, of_scene),
        (scene.gravity.owner, of_scene),
    ]
    for name in ("display", "unit_settings"):
        item = getattr(scene, name)
        known.append((item, [scene.as_pointer(), item.bl_rna.as_pointer(), item.as_pointer()]))
    found = {_place_of(wanted, list(words(reference))) for reference, wanted in known}
    return found.pop() if len(found) == 1 else None


def _place_of(wanted: list[int], words: list[int]) -> int | None:
    places = [at for at in range(2, len(words) - 2) if words[at : at + 3] == wanted]
    return places[0] if len(places) == 1 else None


# --- custom properties --------------------------------------------------------------------------------------

IS_PART = PerType(
    lambda kind: kind.__name__ in ("IDPropertyGroup", "IDPropertyArray") and is_static(kind), _STRUCT
)
"""Whether values of a type are groups or arrays of custom properties."""


def part_pointers(part: Any) -> tuple[int, int]:
    """Return the addresses of the data-block and of the property of a group or an array of custom properties."""
    block, prop = known_part_words()
    found = words(part)
    return found[block], found[prop]


def known_part_words() -> tuple[int, int]:
    """Return the words of `part_words`. Raises CannotCut if they are unknown."""
    places = part_words()
    if places is None:
        raise CannotCut("it is not known how this Blender lays out custom properties")
    return places


@cache
def part_words() -> tuple[int, int] | None:
    """Return which words of a group or array of custom properties point to its data-block and its property, or None.

    They have to be the same in all groups and arrays of a test property. The window manager gets this property: it
    always exists, and neither undo nor the state of the file depends on its properties.
    """
    manager: Any = bpy.context.window_manager
    key = "mcp_bridge_layout"
    manager[key] = {"group": {}, "array": [1], "other": [1]}
    try:
        group = manager[key]
        inner, array, other = (group[name] for name in ("group", "array", "other"))
        found = set()
        for part in (group, inner, array, other):
            at = [i for i, word in enumerate(words(part)) if i >= 2 and word == manager.as_pointer()]
            found.add(at[0] if len(at) == 1 and at[0] + 1 < len(words(part)) else 0)
        owner = found.pop()
        if found or not owner:
            return None
        properties = [words(part)[owner + 1] for part in (group, inner, array, other)]
        again = [words(part)[owner + 1] for part in (manager[key], group["group"], group["array"])]
        return (owner, owner + 1) if len(set(properties)) == 4 and again == properties[:3] else None
    finally:
        del manager[key]


# --- BMesh --------------------------------------------------------------------------------------------------


_Counts = ctypes.c_int * 4


def address_of_mesh(reference: Any) -> int:
    """Return the address of the BMesh of an element, a sequence or a layer, or of a reference to the mesh itself."""
    word = mesh_word()
    if word is None:
        raise CannotCut("it is not known how this Blender lays out references to meshes")
    return int(words(reference)[word])


def counts_of_mesh(reference: Any) -> tuple[int, int, int, int]:
    """Return how many vertices, edges, loops and faces the mesh of an element has; the element must exist."""
    vertices, edges, loops, faces = _Counts.from_address(address_of_mesh(reference))
    return vertices, edges, loops, faces


@cache
def mesh_word() -> int | None:
    """Return which word of an element or a sequence points to its mesh, which begins with counts of its elements."""
    mesh = bmesh.new()
    try:
        corners = [mesh.verts.new() for _ in range(5)]
        for last in corners[2:4]:
            mesh.faces.new([*corners[:2], last])
        of_mesh = [list(words(each)) for each in (mesh.verts, mesh.edges, mesh.faces, corners[0])]
        at = [
            place for place, found in enumerate(zip(*of_mesh, strict=False)) if place > 1 and _is_one(found)
        ]
        counts = list(_Counts.from_address(of_mesh[0][at[0]])) if len(at) == 1 else None
        return at[0] if counts == [5, 5, 6, 2] else None
    finally:
        mesh.free()


def _is_one(addresses: tuple[int, ...]) -> bool:
    return len(set(addresses)) == 1 and addresses[0] > 1 << 16


def pointing_value(value: Any) -> Any:
    """Return the object with the pointer: `value`, or the owner of a byte colour, which computes its numbers anew."""
    return value if getattr(value, "owner", None) is None else value.owner


def address(value: Any) -> tuple[int, type]:
    """Return where a coordinate or layer value of a BMesh points, and the type of the object with that pointer."""
    pointing = pointing_value(value)
    places = value_words().get(type(pointing))
    if not places:
        raise CannotCut(f"it is not known how this Blender lays out a {type(pointing).__name__}")
    return int(words_now(pointing)[places[0]]), type(pointing)


@cache
def value_words() -> dict[type, tuple[int, ...]]:
    """Return which words of a value are its pointers, by type, or none.

    They are the words that two values of one element have in common, in a mesh whose elements are known.
    """
    mesh = bmesh.new()
    layers = [mesh.verts.layers.deform.new("d"), mesh.verts.layers.skin.new("s")]
    on_loops = [mesh.loops.layers.uv.new("u"), mesh.loops.layers.color.new("c")]

    def values() -> list[list[Any]]:
        loops = [loop for face in mesh.faces for loop in face.loops]
        return [
            [
                vertex.co,
                *(vertex[layer] for layer in layers),
                *(pointing_value(loop[layer]) for layer in on_loops),
            ]
            for vertex, loop in zip(mesh.verts, loops, strict=True)
        ]

    try:
        for _ in range(3):
            mesh.faces.new([mesh.verts.new((0, 0, 0)) for _ in range(3)])
        columns = zip(zip(*values(), strict=True), zip(*values(), strict=True), strict=True)
        return {type(found[0]): _pointer_words(found, again) for found, again in columns}
    finally:
        mesh.free()


def _pointer_words(found: tuple[Any, ...], again: tuple[Any, ...]) -> tuple[int, ...]:
    memory = [list(words(value)) for value in found]
    others = [list(words(value)) for value in again]
    return tuple(
        place
        for place in range(2, len(memory[0]))
        if all(a[place] == b[place] for a, b in zip(memory, others, strict=True))
        and len({each[place] for each in memory}) == len(memory)
    )


audit.module_may_raise(globals(), "ctypes.addressof", "ctypes.cdata")
