# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds out whether another process is alive. Only `sandbox.confinement` starts processes."""

from __future__ import annotations

import os
import sys

__all__ = ("process_lives",)


def process_lives(pid: int) -> bool:
    """Whether a process has this id now. The system reuses ids, so it may be a different process."""
    if sys.platform == "win32":
        return _process_lives_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _process_lives_on_windows(pid: int) -> bool:
    import ctypes

    query_limited_information, still_active = 0x1000, 259
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined, unused-ignore]
    handle = kernel.OpenProcess(query_limited_information, False, pid)
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == still_active
