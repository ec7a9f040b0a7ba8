# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes into the memory of Blender's references: cuts them off, or moves them after the items they point to.

Python has no way to invalidate a reference, so this module writes into its memory by ctypes. That is the most dangerous
thing that the extension does in a user's process, and only this module does it. `layout` finds the place of each word,
and every write first checks the reference again. If a check fails, nothing is written and `CannotCut` is raised, which
ends the script's run.

- A reference to a struct is cut off as Blender itself does it: its type becomes null, and each use of it says
  "has been removed".
- Collections, arrays, functions and custom properties do not always look at that type, or have none. So the Python
  object gets another Python type, every use of which raises ReferenceError: nothing reaches its pointers any more.
- Coordinates and layer values of a BMesh do not know their owner: they get memory of their own to point at.

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
#: Zeros for more bytes than any property of Blender's has: a property of no type, without a name, items or value.
_ZEROS = ctypes.create_string_buffer(4096)


def move(reference: Any, to: int) -> None:
    """Point a struct, collection, array or function at the same item, which now lies at the address `to`.

    Raises CannotCut if this must not be written.
    """
    _check_allowed()
    first = layout.first_word()
    if first is None or not to or is_cut_off(reference):
        raise CannotCut(f"a {type(reference).__name__} cannot be moved")
    layout.words(reference)[first + 2] = to


def disown_context() -> None:
    """Remove the data-block from `bpy.context`, which belongs to none.

    Blender 4.2 notes the scene there as soon as anybody reads `layer_collection` or `tool_settings`, passes it on to
    everything that functions of the context return, and leaves it when it frees the scene: the next `id_data` would
    read it. Writes nothing if settings forbid it.
    """
    first = layout.first_word()
    if not _allowed or first is None or not _context_words[first]:
        return
    if bpy.context is not _CONTEXT or _context_words[first + 1] != layout.RNA[type(_CONTEXT)]:
        raise CannotCut("the context is not laid out as references are")
    _context_words[first] = 0


#: Blender has one context, as long as the program runs.
_CONTEXT = bpy.context
_context_words = layout.words(_CONTEXT)


# --- cutting off --------------------------------------------------------------------------------------------


def _raise_removed(reference: Any, *_arguments: object, **_named: object) -> NoReturn:
    raise ReferenceError(f"{type(reference).__name__} has been removed")


def _name_removed(reference: Any) -> str:
    return f"<{type(reference).__name__} invalid>"


#: The special methods that Python looks up in an object's type.
_SPECIAL_METHODS = """
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
"""The type of references that were cut off, by their earlier type."""
_of_removed: set[type] = set()


def of_removed(kind: type) -> bool:
    """Return whether values of this type are collections, arrays, functions or custom properties that were cut off."""
    return kind in _of_removed


def _make_removed(kind: type) -> type:
    """Make a type without memory of its own that the collector does not track: a `class` statement cannot make one."""
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    spec = _Spec(f"bpy.types.{kind.__name__}".encode(), 0, 0, 0, ctypes.addressof(_NO_SLOTS))
    new: type = make(ctypes.addressof(spec))
    _of_removed.add(new)
    for name in _SPECIAL_METHODS:
        setattr(new, f"__{name}__", _raise_removed)
    new.__repr__ = _name_removed  # type: ignore[assignment]
    return new


def is_cut_off(reference: Any) -> bool:
    """Return whether a reference was already invalidated, by Blender or by `cut_off`."""
    if not isinstance(reference, _STRUCT):
        return of_removed(type(reference))
    try:
        reference.as_pointer()
    except ReferenceError:
        return True
    return False


def cut_off(reference: Any) -> None:
    """Make every use of a struct, collection, array, function or custom property raise ReferenceError.

    Raises CannotCut and writes nothing if the reference has an unexpected layout or settings forbid it.
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
    except ReferenceError:  # Blender has cut it off
        return
    first, (of_kind, rna) = layout.first_word(), layout.STRUCTS[kind]
    words = layout.words_now(reference)
    if first is None or words[1] != of_kind or words[first + 1] != rna or words[first + 2] != item:
        raise CannotCut(f"a {kind.__name__} is not laid out as references are")
    words[first + 1] = 0


def _become_removed(reference: Any, kind: type, words: Any) -> None:
    """Give a Python object another type; both types must have the same memory, and free it in the same way.

    C code that already has the object, as a vector has its array, looks at the RNA type alone: it becomes null, too.
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
    else:  # an iterator of a group reads these words without a check of the type
        block, prop = layout.known_part_words()
        words[block], words[prop] = 0, ctypes.addressof(_ZEROS)
    ctypes.pythonapi.Py_IncRef(
        ctypes.py_object(new)
    )  # an object of a type made at run time owns a reference to it
    words[1] = id(new)


_allowed = False


def allow(writing: bool) -> None:
    """Allow or forbid writes to references: allowed while a script runs, if the settings permit it."""
    global _allowed
    _allowed = writing


def _check_allowed() -> None:
    if not _allowed:
        raise CannotCut("the settings forbid it (cut_references, BLENDER_MCP_CUT_REFERENCES)")


# --- BMesh --------------------------------------------------------------------------------------------------


def forget_mesh(mesh: int, held: Iterable[Any]) -> None:
    """Make sequences and layers of the mesh that lay at this address say that it was freed: without a mesh they do."""
    for reference in held:
        if layout.address_of_mesh(reference) == mesh:
            _check_allowed()
            layout.words(reference)[layout.mesh_word()] = 0


def cut_loose(value: Any, numbers: Iterable[float] = ()) -> Any:
    """Point a coordinate or layer value of a BMesh at memory of its own, which is returned and has to be kept.

    A vector gets the values `numbers`; everything else becomes zeros.
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
