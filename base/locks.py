# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks between processes. The operating system releases a lock when its holder ends, in whatever way.

The file of a lock stays when the lock is released: who removed it would leave two processes with a lock each.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Protocol

__all__ = ("Held", "take")

_POLL_S = 0.02


class Held(Protocol):
    """A lock that this process holds."""

    def release(self) -> None:
        """Release the lock. Any thread may call this."""


def take(path: Path, *, within_s: float = 0.0) -> Held | None:
    """Lock the file `path`, which is made if it is missing; None if another holds it.

    Args:
        path: its folder is made if it is missing. The file belongs to the lock alone: nobody writes anything into it.
        within_s: how long to wait for another holder, in seconds.

    Raises:
        OSError: the file cannot be made or opened.
    """
    import filelock  # one of the bundled libraries: loaded with the first lock, not with the extension

    lock = filelock.FileLock(path, mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=within_s, poll_interval=_POLL_S)
    except filelock.Timeout:
        return None
    except NotImplementedError as error:  # so filelock says that the file system has no locks
        raise OSError(errno.ENOSYS, "this file system has no locks", str(path)) from error
    return lock
