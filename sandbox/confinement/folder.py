# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder in which one supervisor's processes work: removed with the supervisor, or when the next one starts."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from ...base.errors import ExternalServiceError
from .probe import Canary

__all__ = ("RunFolder", "remove_tree")

#: Nothing else in the base folder, which may be any folder of the user's, is ever removed.
_PREFIX = "mcp-run-"
_LOCK = "lock"
#: The age in seconds from which a folder without a lock was left half-removed; a younger one is just being made.
_BEING_MADE_S = 60.0


class RunFolder:
    """The folder of one supervisor, from `make` to `close`. After a crash, the next `make` in its base removes it."""

    def __init__(self, path: Path, lock: IO[bytes]) -> None:
        self.path = path
        self._lock = lock
        self.root, self.control, self.shared = (path / name for name in ("root", "control", "shared"))
        for folder in (self.root, self.control, self.shared):
            folder.mkdir(mode=0o711)
        self._listener: socket.socket | None = None
        #: If two threads removed one tree, they would get into each other's way, and something of it would stay.
        self._changing = threading.Lock()
        self._closed = False

    @classmethod
    def make(cls, base: Path) -> RunFolder:
        """Return a new folder in `base`; make `base` if it is missing, and remove what dead supervisors left there.

        Raises ExternalServiceError if the folder cannot be used, or belongs to another user.
        """
        try:
            base.mkdir(parents=True, exist_ok=True, mode=0o711)
            if sys.platform != "win32" and os.lstat(base).st_uid != os.geteuid():
                raise PermissionError("it belongs to another user")
            for old in base.glob(f"{_PREFIX}*"):
                _remove_if_dead(old)
            # Traversable, because a process that is no longer root must get to its own folder in here.
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
            path.chmod(0o711)
            return cls(path, _lock(path))
        except OSError as error:
            raise ExternalServiceError(
                f"No work folder for confined processes can be made in {base}: {error}. "
                "Set sandbox.workdir_base to a folder of your own."
            ) from None

    def new(self) -> Path:
        """Return a new empty folder for one process. Raises ExternalServiceError if none can be made any more."""
        folder = self.path / secrets.token_hex(8)
        try:
            with self._changing:
                folder.mkdir(mode=0o700)
        except OSError as error:
            raise ExternalServiceError(f"No folder for a confined process could be made: {error}") from None
        return folder

    def remove(self, folder: Path) -> None:
        """Remove a process's folder, whatever the process left in it.

        After `close`, remove everything: a process that was still at work in the folder may have made it again.
        """
        with self._changing:
            remove_tree(self.path if self._closed else folder)

    def canary(self) -> Canary:
        """Return the canary: a file that all may read, in a folder that all may write to, and a port that accepts."""
        file = self.path / "canary" / "canary"
        if self._listener is None:
            file.parent.mkdir()
            file.parent.chmod(0o777)
            file.write_text("a confined process cannot read this")
            file.chmod(0o644)
            self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        return {"file": str(file), "port": int(self._listener.getsockname()[1])}

    def close(self) -> None:
        """Remove the whole folder."""
        if self._listener is not None:
            self._listener.close()
        with self._changing:
            self._closed = True
            self._lock.close()
            remove_tree(self.path)


def remove_tree(folder: Path) -> None:
    """Remove a folder that an untrusted process has written to, after that process has ended.

    Never follow a symbolic link, however deep the tree (subfolders move up step by step, so that no path gets too
    long), and also remove folders whose rights the process took away. What cannot be removed stays.
    """
    with contextlib.suppress(OSError):
        progress = True
        while progress and (subfolders := _remove_files(folder)):
            progress = sum(_bring_up(subfolder, folder) for subfolder in subfolders) > 0
        folder.rmdir()


def _bring_up(subfolder: Path, folder: Path) -> bool:
    """Move the contents of a subfolder up into `folder` and remove it; return whether that worked."""
    try:
        for inner in _remove_files(subfolder):
            os.rename(inner, folder / secrets.token_hex(16))
        subfolder.rmdir()
    except OSError:
        return False
    return True


def _remove_files(folder: Path) -> list[Path]:
    """Remove all removable entries that are no folders; return the folders."""
    folders = []
    with os.scandir(folder) as entries:
        found = [(Path(entry.path), entry.is_dir(follow_symlinks=False)) for entry in entries]
    for path, is_folder in found:
        if is_folder:
            os.chmod(path, 0o700)
            folders.append(path)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return folders


def _lock(folder: Path) -> IO[bytes]:
    """Return the lock of a new folder. The file gets its name after it is locked: an unlocked one would look dead."""
    if sys.platform == "win32":
        return (folder / _LOCK).open("wb")
    lock = (folder / f"{_LOCK}.new").open("wb")
    _try_lock(lock)
    os.rename(lock.name, folder / _LOCK)
    return lock


def _try_lock(lock: IO[bytes]) -> bool:
    """Return whether the file could be locked: its supervisor is this one, or dead."""
    if sys.platform == "win32":
        return True  # Windows cannot remove an open file, which has the same effect
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_if_dead(folder: Path) -> None:
    with contextlib.suppress(OSError):  # in use, or already removed
        try:
            with (folder / _LOCK).open("rb") as lock:
                if not _try_lock(lock):
                    return
                if sys.platform != "win32":
                    remove_tree(folder)  # locked meanwhile, so that nobody else removes it, too
                    return
            (folder / _LOCK).unlink()
            remove_tree(folder)
        except FileNotFoundError:
            if time.time() - folder.stat().st_mtime > _BEING_MADE_S:
                remove_tree(folder)
