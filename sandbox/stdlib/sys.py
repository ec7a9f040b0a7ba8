# SPDX-License-Identifier: GPL-3.0-or-later
"""`sys` and `platform` for scripts: they describe a Blender without command-line arguments, and can end the script."""

from __future__ import annotations

import platform
import sys
from typing import Any, Final

from ..guard.ending import EXIT
from ..guard.seam import Guard
from ..guard.values.text import Stream

__all__ = ("platform_members", "sys_members")

_RECURSION: Final = 1000


def sys_members(guard: Guard) -> dict[str, object]:
    """Return the members of `sys`, for one run."""
    guard.allowed[type(sys.version_info)] = frozenset({"major", "minor", "micro", "releaselevel", "serial"})
    guard.allowed[type(sys.float_info)] = frozenset(name for name in dir(sys.float_info) if name[0] != "_")
    guard.items |= {type(sys.version_info), type(sys.float_info)}
    out = Stream(guard)
    path: list[str] = []
    return {
        "argv": ["blender"],
        "path": path,
        "byteorder": sys.byteorder,
        "executable": "",  # Python's own value where it does not know its program
        "exit": EXIT,
        "float_info": sys.float_info,
        "getrecursionlimit": lambda: _RECURSION,
        "maxsize": sys.maxsize,
        "maxunicode": sys.maxunicode,
        "platform": sys.platform,
        "setrecursionlimit": _ignore,
        "stderr": out,
        "stdout": out,
        "version": sys.version,
        "version_info": sys.version_info,
    }


def platform_members(_guard: Guard) -> dict[str, object]:
    """Return the members of `platform`: the kind of system, as `sys.platform` says it, and Python's version."""
    return {
        "system": platform.system,
        "python_version": platform.python_version,
        "python_implementation": platform.python_implementation,
    }


def _ignore(_limit: Any) -> None:
    """Do nothing: a script cannot change its limit of recursion."""
