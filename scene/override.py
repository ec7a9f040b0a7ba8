# SPDX-License-Identifier: GPL-3.0-or-later
"""A window, area and region for operators, which work from a timer has not.

`temp_override` alone may crash Blender beside a thread at work. An operator runs without the interpreter's lock. When
it asks for a member of the context, Blender looks into what `temp_override` was given, and takes the lock only if no
thread is in the interpreter; up to Python 3.11 that means any thread, so Blender works on Python's objects together
with the thread that has the lock (`BPY_context_member_get`, `PyC_IsInterpreterActive`; seen in 4.2, 4.5 and 5.0).
"""

from __future__ import annotations

import ctypes
import gc
import operator
import sys
from typing import Any, Final

import bpy

__all__ = ("PLACES", "Place")

PLACES: Final = frozenset({"window", "area", "region"})
"""What `temp_override` sets in the context itself; all else is looked up in what it was given."""


class Place:
    """`bpy.context.temp_override(…)` of `PLACES` alone, whose arguments Blender does not look into.

    A second, blank override that is left out of turn takes the arguments out of the context; the places stay.
    """

    def __init__(self, **places: Any) -> None:
        self._blank: Any = bpy.context.temp_override()
        self._native: Any = bpy.context.temp_override(**places)

    def __enter__(self) -> None:
        self._blank.__enter__()
        try:
            self._native.__enter__()
        except BaseException:
            self._blank.__exit__(None, None, None)
            raise
        _leave(self._blank, self._native)

    def __exit__(self, *_error: object) -> None:
        self._blank.__enter__()
        _leave(self._native, self._blank)
        self._blank.__exit__(None, None, None)


def _leave(override: Any, current: Any) -> None:
    """Leave an override while the arguments of another, the `current`, are in the context.

    Blender takes them for a copy of its own and drops it (`bpy_rna_context_temp_override_exit`). They are one where
    the place has changed; else they get back what they lost, or they would be freed twice.
    """
    held = [each for each in gc.get_referents(current) if type(each) is dict]
    before = [sys.getrefcount(each) for each in held]
    override.__exit__(None, None, None)
    after = [sys.getrefcount(each) for each in held]
    for arguments, lost in zip(held, map(operator.sub, before, after), strict=True):
        for _ in range(lost):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(arguments))
