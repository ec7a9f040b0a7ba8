# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes sure that calls may still be nested before numpy is called.

numpy asks the sandbox for memory by a call of Python (`stdlib.array_memory`). Where that call is one too deep, ctypes
has no way to say so: numpy is given an address that means nothing, and Blender crashes.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, Final

__all__ = ("IN_C", "IN_PYTHON", "room_for_calls")

IN_C: Final = 8
IN_PYTHON: Final = 60
"""How many calls deep numpy goes before it asks for memory: in functions that are written in C, and in Python."""


@cache
def _nested(levels: int) -> Any:
    """A type within so many tuples, each of which is a nested call where `isinstance` looks into it."""
    kind: Any = int
    for _ in range(levels):
        kind = (kind,)
    return kind


def room_for_calls(levels: int) -> None:
    """Raise RecursionError where fewer than so many calls may still be nested."""
    if sys.version_info < (3, 12):  # which counts calls in C and in Python together
        isinstance(None, _nested(levels))
    elif levels:
        room_for_calls(levels - 1)
