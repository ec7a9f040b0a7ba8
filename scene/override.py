# SPDX-License-Identifier: GPL-3.0-or-later
"""A window, area and region for operators, which work from a timer has not.

`temp_override` alone may crash Blender beside a thread at work. An operator runs without the interpreter's lock. When
it asks for a member of the context, Blender looks into what `temp_override` was given, and takes the lock only if no
thread is in the interpreter; up to Python 3.11 that means any thread, so Blender works on Python's objects together
with the thread that has the lock (`BPY_context_member_get`, `PyC_IsInterpreterActive`; seen in 4.2, 4.5 and 5.0).
"""

from __future__ import annotations

from typing import Any, Final

import bpy

__all__ = ("PLACES", "Place")

PLACES: Final = frozenset({"window", "area", "region"})
"""What `temp_override` sets in the context itself; all else is looked up in what it was given."""


class Place:
    """`bpy.context.temp_override(…)` of `PLACES` alone, whose arguments Blender does not look into."""

    def __init__(self, **places: Any) -> None:
        self._blank: Any = bpy.context.temp_override()
        self._native: Any = bpy.context.temp_override(**places)

    def __enter__(self) -> None:
        self._blank.__enter__()
        try:
            self._native.__enter__()
        finally:
            self._blank.__exit__(None, None, None)  # takes the arguments out again; the places stay

    def __exit__(self, *_error: object) -> None:
        self._native.__exit__(None, None, None)
        self._blank.__exit__(None, None, None)  # as above: takes out the blank ones, which come back
