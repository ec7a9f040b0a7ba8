# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives operators a window, area and region, which code that a timer runs does not have.

`temp_override` alone may crash Blender while another thread runs Python. An operator runs without the interpreter's
lock. When it reads a member of the context, Blender looks it up in the arguments of `temp_override`, and takes the
lock only if no thread is in the interpreter. Up to Python 3.11 that check means any thread, so Blender uses Python
objects at the same time as the thread that has the lock (`BPY_context_member_get`, `PyC_IsInterpreterActive`; seen in
4.2, 4.5 and 5.0). So `Place` removes the arguments, and `pausing_override` has our threads pause meanwhile.
"""

from __future__ import annotations

import ctypes
import gc
import operator
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

import bpy

from ..base.process import threads

__all__ = ("PLACES", "Place", "beside_no_thread", "pausing_override")

PLACES: Final = frozenset({"window", "area", "region"})
"""The arguments that `temp_override` sets in the context itself; Blender looks all others up in its arguments."""

_LOOKS_BESIDE_THREADS = sys.version_info < (3, 12)


def beside_no_thread() -> AbstractContextManager[None]:
    """Pause the threads of `threads.pausable` where Blender looks into an override without the interpreter's lock."""
    return threads.paused() if _LOOKS_BESIDE_THREADS else nullcontext()


@contextmanager
def pausing_override(**members: Any) -> Iterator[None]:
    """Override members of the context for short work of our own, in which our threads pause if Blender needs that."""
    with beside_no_thread(), bpy.context.temp_override(**members):
        yield


class Place:
    """A context like `bpy.context.temp_override(…)`, for `PLACES` only, without the look-up of its arguments.

    A second, blank override that ends out of order removes the arguments from the context; the places stay.
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
    """End an override while the context has the arguments of another one, `current`.

    Blender takes them for a copy of its own and drops a reference (`bpy_rna_context_temp_override_exit`). If the place
    has changed they are a copy; otherwise this adds the lost reference again, or Blender would free them twice.
    """
    held = [each for each in gc.get_referents(current) if type(each) is dict]
    before = [sys.getrefcount(each) for each in held]
    override.__exit__(None, None, None)
    after = [sys.getrefcount(each) for each in held]
    for arguments, lost in zip(held, map(operator.sub, before, after), strict=True):
        for _ in range(lost):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(arguments))
