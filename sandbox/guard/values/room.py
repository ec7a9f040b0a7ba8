# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes sure that enough nested calls are possible before numpy is called.

numpy gets memory from the sandbox by a call of Python (`stdlib.array_memory`). If that call is nested too deeply,
ctypes cannot report it: numpy gets a meaningless address, and Blender crashes.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, Final

from .weight import MAX_DEPTH

__all__ = ("IN_C", "IN_CONTAINERS", "IN_PYTHON", "room_for_calls")

IN_C: Final = 8
IN_PYTHON: Final = 60
"""How many calls deep numpy goes before it requests memory: in functions written in C, and in Python."""
IN_CONTAINERS: Final = IN_C + (MAX_DEPTH if sys.version_info < (3, 12) else 0)
"""How many calls deep C code goes that compares containers, or makes an array of one."""


@cache
def _nested(levels: int) -> Any:
    """Return a type within so many tuples, each of which is a nested call when `isinstance` looks into it."""
    kind: Any = int
    for _ in range(levels):
        kind = (kind,)
    return kind


def room_for_calls(levels: int) -> None:
    """Raise RecursionError if fewer than so many nested calls are possible."""
    if sys.version_info < (3, 12):  # it counts calls in C and in Python together
        isinstance(None, _nested(levels))
    elif levels:
        room_for_calls(levels - 1)
