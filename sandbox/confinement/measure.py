# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory a process and what it started use, how many threads, and how much it has on disk."""

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

#: What an empty file or folder counts for, so that a limit on bytes is one on their number too.
_LEAST = 16 * 1024
_FIGURES = re.compile(rb"^(VmRSS|VmPTE|Threads):\s+(\d+)", re.M)
_MAPPED_AND_DELETED = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ (\d+) +(/.*) \(deleted\)$", re.M
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Of processes: resident memory in bytes with what the kernel needs to map it, and threads."""

    memory: int = 0
    threads: int = 0


def usage(pid: int, *, alone: bool = False) -> Usage:
    """What a process uses now, `alone` or with its descendants; nothing once it is gone.

    On Windows the job object holds the limits, so nothing is measured there; on macOS no threads are.
    """
    if sys.platform == "linux":
        return _linux([Path("/proc") / str(pid)] if alone else _family(pid))
    if sys.platform == "darwin":
        return Usage(_macos(pid))
    return Usage()


def _linux(processes: Iterable[Path]) -> Usage:
    memory = threads = 0
    for process in processes:
        with contextlib.suppress(OSError):  # it ended meanwhile
            figures = {
                name: int(number) for name, number in _FIGURES.findall((process / "status").read_bytes())
            }
            memory += (figures.get(b"VmRSS", 0) + figures.get(b"VmPTE", 0)) * 1024
            threads += figures.get(b"Threads", 0)
    return Usage(memory, threads)


def _family(pid: int) -> Iterator[Path]:
    """The folders in /proc of a process and its descendants."""
    waiting = [pid]
    while waiting:
        process = Path("/proc") / str(waiting.pop())
        yield process
        with contextlib.suppress(OSError):
            for children in process.glob("task/*/children"):
                waiting += map(int, children.read_bytes().split())


def _macos(pid: int) -> int:
    """By proc_pid_rusage of libproc, whose first version (0) has 16 bytes and then 64-bit numbers."""
    usage = (ctypes.c_uint64 * 32)()
    if ctypes.CDLL("libproc.dylib").proc_pid_rusage(pid, 0, usage) != 0:
        return 0
    return int(usage[2 + 6])  # resident_size is the seventh number


def disk_bytes(folder: Path, most: float = float("inf")) -> float:
    """Bytes on disk of everything in a folder, every entry for 16 KB at least; symbolic links are not followed.

    Stops counting beyond `most`. Infinite where a part cannot be looked into: hidden from whoever counts, by its
    rights or by its depth, is what a process that nobody trusts may wish to be.
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
    """Bytes of files that a process and its descendants have removed from a folder and still hold open or mapped.

    0 where that is not known: elsewhere than on Linux.
    """
    if sys.platform != "linux":
        return 0
    within = os.fsencode(folder) + b"/"
    held: dict[int, int] = {}  # by the number of the file, as some file systems have two for their device
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
