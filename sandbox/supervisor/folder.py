# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of one supervisor: what its processes work in, gone when it is, or when the next one starts."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import IO

from ...errors import ExternalServiceError
from .probe import Canary

__all__ = ("RunFolder",)

_LOCK = "lock"


class RunFolder:
    """`make` one, `close` it. A crash leaves it to the next `make` in the same base folder."""

    def __init__(self, path: Path, lock: IO[bytes]) -> None:
        self.path = path
        self._lock = lock
        self.root, self.control, self.shared = (path / name for name in ("root", "control", "shared"))
        for folder in (self.root, self.control, self.shared):
            folder.mkdir(mode=0o711)
        self._listener: socket.socket | None = None

    @classmethod
    def make(cls, base: Path) -> RunFolder:
        """A new folder in `base`, which is made where it is missing; what dead supervisors left there is removed.

        Raises ExternalServiceError when the folder cannot be used, or belongs to another user.
        """
        try:
            base.mkdir(parents=True, exist_ok=True, mode=0o711)
            if sys.platform != "win32" and os.lstat(base).st_uid != os.geteuid():
                raise PermissionError("it belongs to another user")
            for old in base.iterdir():
                _remove_if_dead(old)
            # Traversable, because a process that is not root any more must get to its own folder in here.
            path = Path(tempfile.mkdtemp(prefix="run-", dir=base))
            path.chmod(0o711)
            lock = (path / _LOCK).open("wb")
            _try_lock(lock)
            return cls(path, lock)
        except OSError as error:
            raise ExternalServiceError(
                f"No work folder for confined processes can be made in {base}: {error}. "
                "Set sandbox.workdir_base to a folder of your own."
            ) from None

    def new(self) -> Path:
        """A new empty folder for one process."""
        folder = self.path / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    def remove(self, folder: Path) -> None:
        """Remove a folder that `new` gave, whatever a process left in it."""
        remove_tree(folder)

    def canary(self) -> Canary:
        """The canary file, which everybody may read, in a folder everybody may write to, and a port that accepts."""
        file = self.path / "canary" / "canary"
        if self._listener is None:
            file.parent.mkdir()
            file.parent.chmod(0o777)
            file.write_text("a confined process cannot read this")
            file.chmod(0o644)
            self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        return {"file": str(file), "port": int(self._listener.getsockname()[1])}

    def close(self) -> None:
        """Remove everything."""
        if self._listener is not None:
            self._listener.close()
        self._lock.close()
        remove_tree(self.path)


def remove_tree(folder: Path) -> None:
    """Remove a folder that a process nobody trusts has written to: never through a symbolic link."""
    shutil.rmtree(folder, onerror=_open_up_and_retry)


def _open_up_and_retry(function: object, path: str, _error: object) -> None:
    """A process may have taken its own rights on a folder away."""
    with contextlib.suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, 0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def _try_lock(lock: IO[bytes]) -> bool:
    """Whether the file could be locked: its supervisor is this one, or dead."""
    if sys.platform == "win32":
        return True  # an open file cannot be removed there, which does the same
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_if_dead(folder: Path) -> None:
    try:
        with (folder / _LOCK).open("rb") as lock:
            dead = _try_lock(lock)
        if dead:
            (folder / _LOCK).unlink()
            remove_tree(folder)
    except OSError:
        return  # just being made, or still in use
