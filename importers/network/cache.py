# SPDX-License-Identifier: GPL-3.0-or-later
"""Cache downloaded files by MD5, and the services' JSON documents by address; all Blenders of the user share it.

A complete and checked file enters the cache by one rename. Each use checks it again, and a damaged file is fetched
again. If two Blenders need the same file, one fetches it and the other waits. No `bpy` here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...base import atomic, locks
from ...base.errors import ExternalServiceError
from . import download
from .download import Flag, HttpError, Progress, RemoteFile, Site

__all__ = ("DOCUMENT_S", "Cache", "file_md5")

#: How long a document is used without a new request (seconds).
DOCUMENT_S = 12 * 3600.0
#: A file used within this time (seconds) stays even above the quota: an import may need it.
IN_USE_S = 1800.0
#: A partial download older than this (seconds) is removed.
STALE_PART_S = 7 * 86400.0

_POLL_S = 0.1


class Cache:
    """Files below `folder`, at most `quota` bytes of them; the least recently used go first."""

    def __init__(self, folder: Path, *, quota: int) -> None:
        self._files = folder / "files"
        self._documents = folder / "documents"
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

    def document(
        self, site: Site, path: str, *, max_age: float = DOCUMENT_S, cancelled: Flag | None = None
    ) -> Any:
        """The JSON at `path` of a service, or an old copy if the service cannot be reached.

        A copy younger than `max_age` seconds is used without a request, and an unchanged document is not sent again.
        Raises ExternalServiceError if there is neither an answer nor a copy.
        """
        kept = self._documents / f"{hashlib.sha256((site.base + path).encode()).hexdigest()}.json"
        found = _read_document(kept)
        if found is not None and 0 <= time.time() - found["time"] < max_age:
            return found["data"]
        headers = {"If-None-Match": found["etag"]} if found and found["etag"] else {}
        try:
            answer = download.request(site, path, headers=headers, cancelled=cancelled)
        except HttpError as error:
            if error.status == 304 and found is not None:
                _write_document(kept, found["etag"], found["data"])
                return found["data"]
            if found is None or error.status < 500:
                raise
            return found["data"]
        except ExternalServiceError:
            if found is None:
                raise
            return found["data"]
        data = answer.json()
        _write_document(kept, answer.headers.get("etag", ""), data)
        return data

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


def _read_document(path: Path) -> Mapping[str, Any] | None:
    """The stored document; None if there is no valid one."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.keys() >= {"time", "etag", "data"} else None


def _write_document(path: Path, etag: str, data: Any) -> None:
    """Store a document. If the disk is full, it is only requested again the next time."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(path, json.dumps({"time": time.time(), "etag": etag, "data": data}).encode())


@contextmanager
def _locked(path: Path, cancelled: Flag | None) -> Iterator[None]:
    """Wait for the lock of a file of the cache, however long its holder fetches it, and hold it."""
    while (held := locks.take(path)) is None:
        download.wait(_POLL_S, cancelled)
    try:
        yield
    finally:
        held.release()
