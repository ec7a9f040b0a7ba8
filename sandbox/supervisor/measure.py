# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory a process and what it started use, and how much a folder holds."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from pathlib import Path

__all__ = ("disk_bytes", "memory_bytes")


def memory_bytes(pid: int) -> int:
    """Resident memory in bytes of a process and its descendants; 0 once they are gone.

    On Windows the job object holds the limit, so nothing is measured there.
    """
    if sys.platform == "linux":
        return _linux(pid)
    if sys.platform == "darwin":
        return _macos(pid)
    return 0


def _linux(pid: int) -> int:
    total, waiting = 0, [pid]
    while waiting:
        process = Path("/proc") / str(waiting.pop())
        with contextlib.suppress(OSError):  # it ended meanwhile
            total += int((process / "statm").read_bytes().split()[1]) * _PAGE
            for children in process.glob("task/*/children"):
                waiting += map(int, children.read_bytes().split())
    return total


def _macos(pid: int) -> int:
    """By proc_pid_rusage of libproc, whose first version (0) has 16 bytes and then 64-bit numbers."""
    usage = (ctypes.c_uint64 * 32)()
    if ctypes.CDLL("libproc.dylib").proc_pid_rusage(pid, 0, usage) != 0:
        return 0
    return int(usage[2 + 6])  # resident_size is the seventh number


def disk_bytes(folder: Path) -> int:
    """Bytes on disk of everything in a folder; symbolic links are not followed."""
    total, waiting = 0, [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    with contextlib.suppress(OSError):
                        found = entry.stat(follow_symlinks=False)
                        total += found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size
    return total


_PAGE = os.sysconf("SC_PAGE_SIZE") if sys.platform == "linux" else 0
