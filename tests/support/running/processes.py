# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads facts about this machine's processes from the kernel."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ("alive", "descendants", "resident", "with_last_argument")


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return _state_and_parent(pid)[0] != "Z"


def with_last_argument(text: str) -> list[int]:
    """Return the living processes whose command line ends in `text`: a command itself, not its starter."""
    return [pid for pid in _all() if alive(pid) and _last_argument(pid) == text]


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and their descendants."""
    children = [child for child in _all() if _state_and_parent(child)[1] == str(pid)]
    return children + [below for child in children for below in descendants(child)]


def resident(pid: int) -> int:
    """Return how much memory a process has, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _all() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def _state_and_parent(pid: int) -> list[str]:
    """Return a process's state and parent; those of a zombie if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return ["Z", "0"]


def _last_argument(pid: int) -> str:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return line.rstrip(b"\0").rpartition(b"\0")[2].decode(errors="replace")
