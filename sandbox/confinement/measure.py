# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures a process and its descendants: memory, threads, and bytes on disk."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ("Usage", "deleted_bytes", "disk_bytes", "usage")

#: The bytes that an empty file or folder counts for, so that a limit on bytes also limits their number.
_LEAST = 16 * 1024
_FIGURES = re.compile(rb"^(VmRSS|VmPTE|Threads):\s+(\d+)", re.M)
_MAPPED_AND_DELETED = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ (\d+) +(/.*) \(deleted\)$", re.M
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of processes: resident memory in bytes, with the kernel's memory to map it, and threads."""

    memory: int = 0
    threads: int = 0


def usage(pid: int, *, alone: bool = False) -> Usage:
    """Return what a process uses now, `alone` or with its descendants; nothing once it has ended.

    On Windows the job object enforces the limits, so this measures nothing; on macOS it counts no threads.
    """
    if sys.platform == "linux":
        return _linux([Path("/proc") / str(pid)] if alone else _family(pid))
    if sys.platform == "darwin":
        return Usage(_macos(pid))
    return Usage()


def _linux(processes: Iterable[Path]) -> Usage:
    memory = threads = 0
    for process in processes:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            figures = {
                name: int(number) for name, number in _FIGURES.findall((process / "status").read_bytes())
            }
            memory += (figures.get(b"VmRSS", 0) + figures.get(b"VmPTE", 0)) * 1024
            threads += figures.get(b"Threads", 0)
    return Usage(memory, threads)


def _family(pid: int) -> Iterator[Path]:
    """Yield the folders in /proc of a process and its descendants."""
    waiting = [pid]
    while waiting:
        process = Path("/proc") / str(waiting.pop())
        yield process
        with contextlib.suppress(OSError):
            for children in process.glob("task/*/children"):
                waiting += map(int, children.read_bytes().split())


def _macos(pid: int) -> int:
    """Return the resident bytes by proc_pid_rusage of libproc: version 0 has 16 bytes and then 64-bit numbers."""
    usage = (ctypes.c_uint64 * 32)()
    if ctypes.CDLL("libproc.dylib").proc_pid_rusage(pid, 0, usage) != 0:
        return 0
    return int(usage[2 + 6])  # resident_size is the seventh number


def disk_bytes(folder: Path, most: float = float("inf")) -> float:
    """Return the bytes on disk of everything in a folder, at least 16 KB for each entry; follow no symbolic links.

    Stops counting beyond `most`. Returns infinity if a part cannot be read: an untrusted process may try to hide files
    by their rights or by their depth.
    """
    total, waiting = 0, [str(folder)]
    while waiting and total <= most:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        total += _LEAST
                    else:
                        with contextlib.suppress(FileNotFoundError):
                            total += max(_on_disk(entry.stat(follow_symlinks=False)), _LEAST)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return float("inf")
    return total


def deleted_bytes(pid: int, folder: Path) -> int:
    """Return the bytes of files that a process tree has removed from a folder and still holds open or mapped.

    Returns 0 where that is not known: elsewhere than on Linux.
    """
    if sys.platform != "linux":
        return 0
    within = os.fsencode(folder) + b"/"
    held: dict[int, int] = {}  # by the file's number, as some file systems have two for their device
    for process in _family(pid):
        with contextlib.suppress(OSError):
            for descriptor in os.scandir(process / "fd"):
                with contextlib.suppress(OSError):
                    found = descriptor.stat()
                    if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                        held[found.st_ino] = _on_disk(found)
            for low, high, offset, number, name in _MAPPED_AND_DELETED.findall(
                (process / "maps").read_bytes()
            ):
                if name.startswith(within):
                    end = int(offset, 16) + int(high, 16) - int(low, 16)
                    held[int(number)] = max(held.get(int(number), 0), end)
    return sum(held.values())


def _on_disk(found: os.stat_result) -> int:
    return found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size
