# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks functions of the sandbox on purpose, wherever they are stored: for a fork, as nothing undoes it."""

from __future__ import annotations

import ctypes
import dis
import sys
import threading
import types
from pathlib import Path
from typing import Any

import bl_ext.user_default.mcp_bridge.sandbox as sandbox
from bl_ext.user_default.mcp_bridge.sandbox.guard.audit import may_raise

__all__ = ("Called", "break_code", "codes", "is_ours", "name_of")

_FOLDER = str(Path(str(sandbox.__file__)).parent)
_CONSTANTS = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
"""The offset of a code object's pointer to its constants: after the head of an object of variable size."""
_kept: list[object] = []


def break_code(code: types.CodeType, error: type[Exception]) -> None:
    """Make all functions with this code raise `error` when they are called, instead of doing their work.

    The code changes in place: so the function is broken in a table, in a closure and sealed, too, and what is stored
    by the code (a grant, a permission) stays valid. A generator raises when it is first drawn from.
    """
    constants = (error, *code.co_consts[1:])
    _kept.append(constants)
    start = next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME") + 2
    raising = bytes((dis.opmap["LOAD_CONST"], 0, dis.opmap["RAISE_VARARGS"], 1))
    if start + len(raising) > len(code.co_code):
        raise ValueError(f"{code.co_qualname} is too short to raise anything")
    ctypes.c_void_p.from_address(id(code) + _CONSTANTS).value = id(constants)
    ctypes.memmove(id(code) + types.CodeType.__basicsize__ + start, raising, len(raising))


class Called:
    """The code of each function of the sandbox called inside: `with Called() as codes: …`, the latest last."""

    def __init__(self) -> None:
        self.codes: dict[types.CodeType, None] = {}

    def __enter__(self) -> dict[types.CodeType, None]:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self.codes

    def __exit__(self, *_why: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    @may_raise("object.__getattr__")
    def _note(self, frame: types.FrameType, event: str, _about: Any) -> None:
        if event == "call":
            code = frame.f_code
            if is_ours(code):
                self.codes.pop(code, None)
                self.codes[code] = None


def is_ours(code: types.CodeType) -> bool:
    """Return whether a function of the sandbox has this code."""
    return code.co_filename.startswith(_FOLDER)


def codes(code: types.CodeType) -> list[types.CodeType]:
    """Return the code of a function and of all that it defines."""
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return [code, *(found for each in inner for found in codes(each))]


def name_of(code: types.CodeType) -> str:
    """Return `guard/meter.py Meter.refuse` with the line, since some functions have no name of their own."""
    file = Path(code.co_filename).relative_to(_FOLDER).as_posix()
    return f"{file} {code.co_qualname}:{code.co_firstlineno}"
