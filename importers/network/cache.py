# SPDX-License-Identifier: GPL-3.0-or-later
"""Cache downloaded files by MD5; all Blenders of the user share the cache, and the `documents` beside the files.

A complete and checked file enters the cache by one rename. Each use checks it again, and a damaged file is fetched
again. If two Blenders need the same file, one fetches it and the other waits. No `bpy` here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...base import locks
from ...base.flag import Flag
from . import download
from .attempts import wait
from .documents import Documents
from .download import Progress
from .remote_file import RemoteFile
from .transport import Site

__all__ = ("Cache", "file_md5")

#: A file used within this time (seconds) stays even above the quota: an import may need it.
IN_USE_S = 1800.0
#: A partial download older than this (seconds) is removed.
STALE_PART_S = 7 * 86400.0

_POLL_S = 0.1


class Cache:
    """Files below `folder`, at most `quota` bytes of them; the least recently used go first."""

    def __init__(self, folder: Path, *, quota: int) -> None:
        self._files = folder / "files"
        self.documents = Documents(folder / "documents")
        self._quota = quota

    def file(
        self,
        site: Site,
        remote: RemoteFile,
        *,
        progress: Progress | None = None,
        cancelled: Flag | None = None,
    ) -> Path:
        """The path of the file, fetched if it is not cached. `remote.md5` must be set. Raises as `download.fetch`."""
        assert remote.md5 is not None, "only files with a known MD5 can be cached"
        path = self._path(remote.md5)
        if self.has(remote.md5):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.with_suffix(".lock"), cancelled):
            if not self.has(remote.md5):  # another Blender may have fetched it by now
                download.fetch(site, remote, path, progress=progress, cancelled=cancelled)
        self.trim()
        return path

    def has(self, md5: str) -> bool:
        """Whether the cache has the complete file; marks it as used. Removes a damaged file."""
        path = self._path(md5)
        try:
            if file_md5(path) == md5:
                os.utime(path)
                return True
            path.unlink()
        except FileNotFoundError:
            pass
        return False

    def trim(self) -> None:
        """Remove the least recently used files until the rest fits the quota, and old partial downloads."""
        now = time.time()
        used = sorted(_ages(self._files, now), reverse=True)
        total = sum(size for _, size, _ in used)
        for age, size, path in used:
            stale = path.suffix == ".part" and age > STALE_PART_S
            if stale or (total > self._quota and age > IN_USE_S):
                # Windows refuses to remove a file that another Blender has open; a later `trim` removes it.
                with contextlib.suppress(OSError):
                    path.unlink()
                    total -= size

    def _path(self, md5: str) -> Path:
        return self._files / md5[:2] / md5


def file_md5(path: Path) -> str:
    """The MD5 of a file, hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _ages(folder: Path, now: float) -> Iterator[tuple[float, int, Path]]:
    """(seconds since the last use, bytes, path) of each file."""
    for path in folder.glob("*/*"):
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            if path.suffix != ".lock":
                yield now - found.st_mtime, found.st_size, path


@contextmanager
def _locked(path: Path, cancelled: Flag | None) -> Iterator[None]:
    """Wait for the lock of a file of the cache, however long its holder fetches it, and hold it."""
    while (held := locks.take(path)) is None:
        wait(_POLL_S, cancelled)
    try:
        yield
    finally:
        held.release()
