# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that only the user may read. Writes are atomic; a file that others may write is refused."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import atomic, locks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ("lock", "make_folder", "read", "write")

_LOCK_WITHIN_S = 2.0


def make_folder(folder: Path) -> None:
    """Make `folder` with its parents, for the user alone (mode 0700).

    Raises `PermissionError` when the folder exists and somebody else owns it or can write to it.
    On Windows the user's own folders inherit private permissions, so nothing is checked there.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_private(folder)


def read(path: Path) -> bytes | None:
    """Return the contents of `path`, or None if there is none.

    Raises `PermissionError` when somebody else owns the file or can write to it.
    """
    try:
        _check_private(path)
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write(path: Path, data: bytes) -> None:
    """Replace the contents of `path` with `data` in one step, on disk, mode 0600; creates its folder if needed.

    Raises `OSError` when that fails; the old file is then unchanged.
    """
    make_folder(path.parent)
    atomic.write(path, data, mode=0o600, on_disk=True)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock of `path` against other processes of the user; waits up to two seconds.

    Raises `TimeoutError` when another process keeps the lock.
    """
    make_folder(path.parent)
    held = locks.take(path.with_name(f"{path.name}.lock"), within_s=_LOCK_WITHIN_S)
    if held is None:
        raise TimeoutError(f"another Blender has kept {path} locked for {_LOCK_WITHIN_S:g} s: try again")
    try:
        yield
    finally:
        held.release()


def _check_private(path: Path) -> None:
    if os.name != "posix":
        return
    found = path.stat()
    if found.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user and is not trusted")
    if stat.S_IMODE(found.st_mode) & 0o022:
        raise PermissionError(f"{path} can be written by other users: run chmod go-w on it")
