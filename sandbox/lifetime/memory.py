# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of Blender's references: read to know where they point, written to cut them off or to let them follow.

Python gives no way to invalidate a reference, so this module writes into its memory by ctypes. That is the most
dangerous thing that the extension does in a user's process, and it is done here alone. The place of each word is not
guessed: it is found in references whose pointers are known, and every write is checked again for the reference that it
is about. Where a check fails nothing is written and `CannotCut` is raised, which ends the script's run.

- A reference to a struct is cut off as Blender itself does it: its type becomes null, and each use of it says
  "has been removed".
- Collections, arrays, functions and custom properties do not always look at that type, or have none. So the Python
  object gets another type of Python, every use of which raises ReferenceError: nothing reaches its pointers any more.
- Coordinates and layer values of a BMesh know nothing of their owner: they get memory of their own to point at.

`BLENDER_MCP_CUT_REFERENCES=off` (`cut_references = false` in a policy file) forbids all of it: a run in which a
reference would have to be cut off then ends.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple, NoReturn

import bmesh
import bpy

from ...base.per_type import PerType, is_static
from ..guard import audit

__all__ = (
    "IS_PART",
    "CannotCut",
    "Pointers",
    "address",
    "address_of_mesh",
    "allow",
    "are_known",
    "counts_of_mesh",
    "cut_loose",
    "cut_off",
    "disown_context",
    "forget_mesh",
    "is_cut_off",
    "move",
    "of_removed",
    "part_pointers",
    "pointers",
)

_WORD = ctypes.sizeof(ctypes.c_void_p)
_HAVE_GC = 1 << 14
"""Py_TPFLAGS_HAVE_GC."""
_STRUCT = bpy.types.bpy_struct
_TYPES: Any = bpy.types
_PROPERTIES = (_TYPES.bpy_prop, _TYPES.bpy_func)


class CannotCut(Exception):
    """A reference is not laid out as it should be, or may not be written: its memory is as it was."""


def _words(reference: Any) -> Any:
    """The memory of a Python object, word by word."""
    return _ARRAYS[type(reference)].from_address(id(reference))


_ARRAYS: PerType[Any] = PerType(lambda kind: ctypes.c_size_t * (kind.__basicsize__ // _WORD), _STRUCT)


# --- where references point ---------------------------------------------------------------------------------


class Pointers(NamedTuple):
    """What a reference to a struct, or to a collection, array or function of one, is made of: addresses, or 0."""

    block: int
    """Its data-block."""
    struct: int
    """The RNA type of the struct."""
    item: int
    """The struct itself."""


def are_known() -> bool:
    """Whether it is known how this Blender lays out all kinds of references that are looked into or written."""
    return (
        _first_word() is not None
        and _part_words() is not None
        and _mesh_word() is not None
        and all(_value_words().values())
    )


def pointers(reference: Any) -> Pointers:
    """Where a struct, collection, array or function of Blender's points. Nothing there is touched."""
    first = _first_word()
    if first is None:
        raise CannotCut("it is not known how this Blender lays out references")
    return Pointers(*_words(reference)[first : first + 3])


def move(reference: Any, to: int) -> None:
    """Let a struct, collection, array or function point at the same item, which lies at the address `to` now.

    Raises CannotCut where that may not be written.
    """
    _check_allowed()
    first = _first_word()
    if first is None or not to or is_cut_off(reference):
        raise CannotCut(f"a {type(reference).__name__} cannot be moved")
    _words(reference)[first + 2] = to


def disown_context() -> None:
    """Take from `bpy.context` the data-block that it is said to belong to: it belongs to none.

    Blender 4.2 notes the scene there as soon as anybody reads `layer_collection` or `tool_settings`, hands it on to all
    that functions of the context return, and leaves it when the scene is freed: the next `id_data` would read it.
    Nothing is written where settings forbid it.
    """
    context, first = bpy.context, _first_word()
    if _allowed and first is not None and pointers(context).block:
        words = _words(context)
        if words[first + 1] != _RNA[type(context)]:
            raise CannotCut("the context is not laid out as references are")
        words[first] = 0


@cache
def _first_word() -> int | None:
    """Which word of a reference is the data-block's pointer: type and item are the next two.

    Found in a collection, an array and a function as well as in structs: all have to agree.
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
    found = {_place_of(wanted, list(_words(reference))) for reference, wanted in known}
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
    """The addresses of the data-block and of the property of a group or an array of custom properties."""
    block, prop = _known_part_words()
    words = _words(part)
    return words[block], words[prop]


def _known_part_words() -> tuple[int, int]:
    places = _part_words()
    if places is None:
        raise CannotCut("it is not known how this Blender lays out custom properties")
    return places


#: As many zeros as any property of Blender's has bytes, and more: of no type, without a name, items or value.
_ZEROS = ctypes.create_string_buffer(4096)


@cache
def _part_words() -> tuple[int, int] | None:
    """Which words of a part are those pointers: the same in groups and arrays whose pointers are known.

    The window manager lends itself: it is always there, and neither undo nor the file's state asks what it has.
    """
    manager: Any = bpy.context.window_manager
    key = "mcp_bridge_layout"
    manager[key] = {"group": {}, "array": [1], "other": [1]}
    try:
        group = manager[key]
        inner, array, other = (group[name] for name in ("group", "array", "other"))
        found = set()
        for part in (group, inner, array, other):
            at = [i for i, word in enumerate(_words(part)) if i >= 2 and word == manager.as_pointer()]
            found.add(at[0] if len(at) == 1 and at[0] + 1 < len(_words(part)) else 0)
        owner = found.pop()
        if found or not owner:
            return None
        properties = [_words(part)[owner + 1] for part in (group, inner, array, other)]
        again = [_words(part)[owner + 1] for part in (manager[key], group["group"], group["array"])]
        return (owner, owner + 1) if len(set(properties)) == 4 and again == properties[:3] else None
    finally:
        del manager[key]


# --- cutting off --------------------------------------------------------------------------------------------


def _say(reference: Any, *_arguments: object, **_named: object) -> NoReturn:
    raise ReferenceError(f"{type(reference).__name__} has been removed")


def _show(reference: Any) -> str:
    return f"<{type(reference).__name__} invalid>"


#: Everything that Python asks an object for by way of its type.
_ASKED = """
getattr setattr delattr call len bool iter next reversed contains getitem setitem delitem format dir reduce_ex lt le gt
ge index float int enter exit
""".split()


class _Spec(ctypes.Structure):
    """CPython's PyType_Spec."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


_NO_SLOTS = (ctypes.c_void_p * 2)()
_removed: dict[type, type] = {}
"""By type of a reference, the type of those that were cut off."""
_of_removed: set[type] = set()


def of_removed(kind: type) -> bool:
    """Whether values of this type are collections, arrays, functions or custom properties that were cut off."""
    return kind in _of_removed


def _make_removed(kind: type) -> type:
    """A type without memory of its own that the collector does not track: no class that Python makes is one."""
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    spec = _Spec(f"bpy.types.{kind.__name__}".encode(), 0, 0, 0, ctypes.addressof(_NO_SLOTS))
    new: type = make(ctypes.addressof(spec))
    _of_removed.add(new)
    for name in _ASKED:
        setattr(new, f"__{name}__", _say)
    new.__repr__ = _show  # type: ignore[assignment]
    return new


def is_cut_off(reference: Any) -> bool:
    """Whether a reference says already that what it pointed to is gone, by Blender's doing or ours."""
    if not isinstance(reference, _STRUCT):
        return of_removed(type(reference))
    try:
        reference.as_pointer()
    except ReferenceError:
        return True
    return False


#: The address of what RNA says of a struct, by the Python type of references to it.
_RNA = PerType(lambda kind: kind.bl_rna.as_pointer(), _STRUCT)  # type: ignore[attr-defined]


_STRUCTS = PerType(lambda kind: (id(kind), _RNA[kind]), _STRUCT)
"""The address of a type of references, and of what RNA says of its struct."""
_pointer = ctypes.pointer(ctypes.c_size_t())
_aim = ctypes.c_size_t.from_address(ctypes.addressof(_pointer))


def _words_now(reference: Any) -> Any:
    """The memory of a Python object, for use at once: the next call makes the same words those of another object.

    A script may hold a million references, and `_words` costs the audit wall a look at each.
    """
    _aim.value = id(reference)
    return _pointer


def cut_off(reference: Any) -> None:
    """Let every use of a reference raise ReferenceError: a struct, collection, array, function or custom property.

    Raises CannotCut, with nothing written, where the reference is not laid out as it should be or settings forbid it.
    """
    _check_allowed()
    kind = type(reference)
    if of_removed(kind):
        return
    if not issubclass(kind, _STRUCT):
        words = _words(reference)
        if words[1] != id(kind):
            raise CannotCut(f"a {kind.__name__} does not begin as Python's objects do")
        _become_removed(reference, kind, words)
        return
    try:
        item = reference.as_pointer()
    except ReferenceError:  # Blender did it
        return
    first, (of_kind, rna) = _first_word(), _STRUCTS[kind]
    words = _words_now(reference)
    if first is None or words[1] != of_kind or words[first + 1] != rna or words[first + 2] != item:
        raise CannotCut(f"a {kind.__name__} is not laid out as references are")
    words[first + 1] = 0


def _become_removed(reference: Any, kind: type, words: Any) -> None:
    """Give a Python object another type: its memory, and who frees it, have to be alike.

    C code that has the object already, as a vector has the array that it is of, looks at the RNA type alone: it becomes
    null, too.
    """
    of_rna = issubclass(kind, _PROPERTIES) and is_static(kind)
    if not (of_rna or IS_PART[kind]):
        raise CannotCut(f"a {kind.__name__} is no reference that can be cut off")
    new = _removed[kind] = _removed.get(kind) or _make_removed(kind)
    if kind.__flags__ & _HAVE_GC or new.__flags__ & _HAVE_GC or new.__basicsize__ > kind.__basicsize__:
        raise CannotCut(f"a {kind.__name__} cannot become another object")
    if weakref.getweakrefcount(reference):
        raise CannotCut(f"something refers weakly to this {kind.__name__}")
    if of_rna:
        first = _first_word()
        if first is None or not all(words[first + 1 : first + 3]):
            raise CannotCut(f"a {kind.__name__} is not laid out as references are")
        words[first + 1] = 0
    else:  # an iterator of a group looks at it without asking what it is
        block, prop = _known_part_words()
        words[block], words[prop] = 0, ctypes.addressof(_ZEROS)
    ctypes.pythonapi.Py_IncRef(
        ctypes.py_object(new)
    )  # an object of a type made at run time owns a reference to it
    words[1] = id(new)


_allowed = False


def allow(writing: bool) -> None:
    """Whether references may be written from now on: while a script runs, where the settings let it."""
    global _allowed
    _allowed = writing


def _check_allowed() -> None:
    if not _allowed:
        raise CannotCut("the settings forbid it (cut_references, BLENDER_MCP_CUT_REFERENCES)")


# --- BMesh --------------------------------------------------------------------------------------------------


_Counts = ctypes.c_int * 4


def address_of_mesh(reference: Any) -> int:
    """Where the BMesh lies that an element, a sequence, a layer or the mesh's own reference belongs to."""
    word = _mesh_word()
    if word is None:
        raise CannotCut("it is not known how this Blender lays out references to meshes")
    return int(_words(reference)[word])


def counts_of_mesh(reference: Any) -> tuple[int, int, int, int]:
    """How many vertices, edges, loops and faces there are in the mesh of an element that is there for certain."""
    vertices, edges, loops, faces = _Counts.from_address(address_of_mesh(reference))
    return vertices, edges, loops, faces


def forget_mesh(mesh: int, held: Iterable[Any]) -> None:
    """Let sequences and layers of the mesh that lay at this address say that it was freed: without one they do."""
    for reference in held:
        if address_of_mesh(reference) == mesh:
            _check_allowed()
            _words(reference)[_mesh_word()] = 0


@cache
def _mesh_word() -> int | None:
    """Which word of an element or a sequence points to its mesh, which begins with the counts of its elements."""
    mesh = bmesh.new()
    try:
        corners = [mesh.verts.new() for _ in range(5)]
        for last in corners[2:4]:
            mesh.faces.new([*corners[:2], last])
        of_mesh = [list(_words(each)) for each in (mesh.verts, mesh.edges, mesh.faces, corners[0])]
        at = [
            place for place, found in enumerate(zip(*of_mesh, strict=False)) if place > 1 and _is_one(found)
        ]
        counts = list(_Counts.from_address(of_mesh[0][at[0]])) if len(at) == 1 else None
        return at[0] if counts == [5, 5, 6, 2] else None
    finally:
        mesh.free()


def _is_one(addresses: tuple[int, ...]) -> bool:
    return len(set(addresses)) == 1 and addresses[0] > 1 << 16


def _pointing(value: Any) -> Any:
    """What has the pointer: of a byte colour, whose numbers are worked out at each use, its owner."""
    return value if getattr(value, "owner", None) is None else value.owner


def address(value: Any) -> tuple[int, type]:
    """Where a coordinate or layer value of a BMesh points, and the type of what points there."""
    pointing = _pointing(value)
    places = _value_words().get(type(pointing))
    if not places:
        raise CannotCut(f"it is not known how this Blender lays out a {type(pointing).__name__}")
    return int(_words(pointing)[places[0]]), type(pointing)


def cut_loose(value: Any, numbers: Iterable[float] = ()) -> Any:
    """Let a coordinate or layer value of a BMesh point at memory of its own, which is returned: it has to be kept.

    `numbers` are what a vector goes on having; all else becomes zeros.
    """
    _check_allowed()
    pointing = _pointing(value)
    places = _value_words().get(type(pointing))
    if not places or not all(_words(pointing)[place] for place in places):
        raise CannotCut(f"a {type(pointing).__name__} is not laid out as it should be")
    memory: Any = (ctypes.c_float * 256)(*(numbers if pointing is value else ()))
    for place in places:
        _words(pointing)[place] = ctypes.addressof(memory)
    return memory


@cache
def _value_words() -> dict[type, tuple[int, ...]]:
    """Which words of a value are its pointers, by type: those that two of one element have in common, found in a
    mesh whose elements are known."""
    mesh = bmesh.new()
    layers = [mesh.verts.layers.deform.new("d"), mesh.verts.layers.skin.new("s")]
    on_loops = [mesh.loops.layers.uv.new("u"), mesh.loops.layers.color.new("c")]

    def values() -> list[list[Any]]:
        loops = [loop for face in mesh.faces for loop in face.loops]
        return [
            [vertex.co, *(vertex[layer] for layer in layers), *(_pointing(loop[layer]) for layer in on_loops)]
            for vertex, loop in zip(mesh.verts, loops, strict=True)
        ]

    try:
        for _ in range(3):
            mesh.faces.new([mesh.verts.new((0, 0, 0)) for _ in range(3)])
        columns = zip(zip(*values(), strict=True), zip(*values(), strict=True), strict=True)
        return {type(found[0]): _common(found, again) for found, again in columns}
    finally:
        mesh.free()


def _common(found: tuple[Any, ...], again: tuple[Any, ...]) -> tuple[int, ...]:
    memory = [list(_words(value)) for value in found]
    others = [list(_words(value)) for value in again]
    return tuple(
        place
        for place in range(2, len(memory[0]))
        if all(a[place] == b[place] for a, b in zip(memory, others, strict=True))
        and len({each[place] for each in memory}) == len(memory)
    )


audit.module_may_raise(globals(), "ctypes.addressof", "ctypes.call_function", "ctypes.cdata", "ctypes.dlsym")
