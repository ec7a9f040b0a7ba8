# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory a process and what it started use, and how much a folder holds."""

from __future__ import annotations

import contextlib
import os
import subprocess
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
        # `ps` is the only way without a compiled library; it is asked a few times a second at most.
        told = subprocess.run(["/bin/ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True)
        return int(told.stdout.strip() or 0) * 1024
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
