# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes into the memory of Blender's references: cuts them off, or lets them follow what they point to.

Python gives no way to invalidate a reference, so this module writes into its memory by ctypes. That is the most
dangerous thing that the extension does in a user's process, and it is done here alone. `layout` finds the place of each
word, and every write is checked again for the reference that it is about. Where a check fails nothing is written and
`CannotCut` is raised, which ends the script's run.

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
from typing import Any, NoReturn

import bpy

from ...base.per_type import is_static
from ..guard import audit
from . import layout
from .layout import CannotCut

__all__ = (
    "CannotCut",
    "allow",
    "cut_loose",
    "cut_off",
    "disown_context",
    "forget_mesh",
    "is_cut_off",
    "move",
    "of_removed",
)

_HAVE_GC = 1 << 14
"""Py_TPFLAGS_HAVE_GC."""
_STRUCT = bpy.types.bpy_struct
_TYPES: Any = bpy.types
_PROPERTIES = (_TYPES.bpy_prop, _TYPES.bpy_func)
#: As many zeros as any property of Blender's has bytes, and more: of no type, without a name, items or value.
_ZEROS = ctypes.create_string_buffer(4096)


def move(reference: Any, to: int) -> None:
    """Let a struct, collection, array or function point at the same item, which lies at the address `to` now.

    Raises CannotCut where that may not be written.
    """
    _check_allowed()
    first = layout.first_word()
    if first is None or not to or is_cut_off(reference):
        raise CannotCut(f"a {type(reference).__name__} cannot be moved")
    layout.words(reference)[first + 2] = to


def disown_context() -> None:
    """Take from `bpy.context` the data-block that it is said to belong to: it belongs to none.

    Blender 4.2 notes the scene there as soon as anybody reads `layer_collection` or `tool_settings`, hands it on to all
    that functions of the context return, and leaves it when the scene is freed: the next `id_data` would read it.
    Nothing is written where settings forbid it.
    """
    context, first = bpy.context, layout.first_word()
    if not _allowed or first is None or not layout.words_now(context)[first]:
        return
    words = layout.words(context)
    if words[first + 1] != layout.RNA[type(context)]:
        raise CannotCut("the context is not laid out as references are")
    words[first] = 0


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


def cut_off(reference: Any) -> None:
    """Let every use of a reference raise ReferenceError: a struct, collection, array, function or custom property.

    Raises CannotCut, with nothing written, where the reference is not laid out as it should be or settings forbid it.
    """
    _check_allowed()
    kind = type(reference)
    if of_removed(kind):
        return
    if not issubclass(kind, _STRUCT):
        words = layout.words(reference)
        if words[1] != id(kind):
            raise CannotCut(f"a {kind.__name__} does not begin as Python's objects do")
        _become_removed(reference, kind, words)
        return
    try:
        item = reference.as_pointer()
    except ReferenceError:  # Blender did it
        return
    first, (of_kind, rna) = layout.first_word(), layout.STRUCTS[kind]
    words = layout.words_now(reference)
    if first is None or words[1] != of_kind or words[first + 1] != rna or words[first + 2] != item:
        raise CannotCut(f"a {kind.__name__} is not laid out as references are")
    words[first + 1] = 0


def _become_removed(reference: Any, kind: type, words: Any) -> None:
    """Give a Python object another type: its memory, and who frees it, have to be alike.

    C code that has the object already, as a vector has the array that it is of, looks at the RNA type alone: it becomes
    null, too.
    """
    of_rna = issubclass(kind, _PROPERTIES) and is_static(kind)
    if not (of_rna or layout.IS_PART[kind]):
        raise CannotCut(f"a {kind.__name__} is no reference that can be cut off")
    new = _removed[kind] = _removed.get(kind) or _make_removed(kind)
    if kind.__flags__ & _HAVE_GC or new.__flags__ & _HAVE_GC or new.__basicsize__ > kind.__basicsize__:
        raise CannotCut(f"a {kind.__name__} cannot become another object")
    if weakref.getweakrefcount(reference):
        raise CannotCut(f"something refers weakly to this {kind.__name__}")
    if of_rna:
        first = layout.first_word()
        if first is None or not all(words[first + 1 : first + 3]):
            raise CannotCut(f"a {kind.__name__} is not laid out as references are")
        words[first + 1] = 0
    else:  # an iterator of a group looks at it without asking what it is
        block, prop = layout.known_part_words()
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


def forget_mesh(mesh: int, held: Iterable[Any]) -> None:
    """Let sequences and layers of the mesh that lay at this address say that it was freed: without one they do."""
    for reference in held:
        if layout.address_of_mesh(reference) == mesh:
            _check_allowed()
            layout.words(reference)[layout.mesh_word()] = 0


def cut_loose(value: Any, numbers: Iterable[float] = ()) -> Any:
    """Let a coordinate or layer value of a BMesh point at memory of its own, which is returned: it has to be kept.

    `numbers` are what a vector goes on having; all else becomes zeros.
    """
    _check_allowed()
    pointing = layout.pointing_value(value)
    places = layout.value_words().get(type(pointing))
    if not places or not all(layout.words(pointing)[place] for place in places):
        raise CannotCut(f"a {type(pointing).__name__} is not laid out as it should be")
    memory: Any = (ctypes.c_float * 256)(*(numbers if pointing is value else ()))
    for place in places:
        layout.words(pointing)[place] = ctypes.addressof(memory)
    return memory


audit.module_may_raise(globals(), "ctypes.addressof", "ctypes.call_function", "ctypes.cdata", "ctypes.dlsym")
