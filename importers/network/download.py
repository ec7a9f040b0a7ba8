# SPDX-License-Identifier: GPL-3.0-or-later
"""Download files of a service. Worker threads only; no `bpy` here.

Every transfer can be cancelled at any time and has a time limit. A failed transfer leaves no file; a download that the
end of the process interrupted continues later. `transport` decides which hosts may be reached.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import shutil
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ...base.errors import ExternalServiceError
from ...base.flag import Flag
from .attempts import announced, check_whole, retried
from .remote_file import RemoteFile
from .transport import Broken, HttpError, Site, ascii_url, megabytes, opened

__all__ = ("Progress", "fetch")

#: Called with the bytes so far and the total bytes, None while the total is unknown.
Progress = Callable[[int, int | None], None]

#: Seconds that a whole file may take.
FILE_S = 3600.0
#: The most bytes of a file whose size is unknown.
MOST_FILE = 8 * 1024 * 1024 * 1024

_CHUNK = 256 * 1024


def fetch(
    site: Site,
    remote: RemoteFile,
    target: Path,
    *,
    progress: Progress | None = None,
    cancelled: Flag | None = None,
    seconds: float = FILE_S,
    most: int = MOST_FILE,
) -> str:
    """Download a file to `target`, check it, and return its MD5. Sends no credentials.

    The bytes go to a `.part` file, which is renamed to `target` when it is complete and correct.
    Raises ExternalServiceError, Cancelled; then neither file remains.
    """
    site.admit(remote.url)
    most = most if remote.size is None else remote.size
    until = time.monotonic() + seconds
    try:
        _check_space(target.parent, remote.size or 0)
        with _Part(target.with_name(target.name + ".part"), remote, most) as part:
            md5 = retried(lambda: _transfer(site, remote, part, progress, cancelled, until), cancelled)
            part.finish(target)
    except OSError as error:  # an error of the disk: network errors are ExternalServiceError
        raise _unwritable(error) from error
    return md5


def _check_space(folder: Path, size: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(folder).free < size:
        raise ExternalServiceError(
            f"The file has {megabytes(size)}, and the disk of {folder} has less space: the user has to free some."
        )


def _unwritable(error: OSError) -> ExternalServiceError:
    return ExternalServiceError(f"The file can't be written: {error.strerror or error}.")


# ---------------------------------------------------------------------------------------------- one transfer


class _Part:
    """The growing `.part` file: its length, its hash, and whether a download may continue it."""

    def __init__(self, path: Path, remote: RemoteFile, most: int) -> None:
        self._path = path
        self._remote = remote
        self._most = most
        #: The HTTP validator of the version of these bytes; without an MD5, only the same version may continue.
        self.validator: str | None = None
        self.continued = False

    def __enter__(self) -> _Part:
        self._file: IO[bytes] = self._path.open("ab+")
        self.restart(keep=self._remote.md5 is not None and self._path.stat().st_size <= self._most)
        return self

    def __exit__(self, *_raised: object) -> None:
        with contextlib.suppress(OSError):  # a full disk; already reported
            self._file.close()
        self._path.unlink(missing_ok=True)

    @property
    def may_continue(self) -> bool:
        return self.length > 0 and (self._remote.md5 is not None or self.validator is not None)

    def restart(self, *, keep: bool = False) -> None:
        """Start with an empty file or, with `keep`, with the part that an earlier process left."""
        if not keep:
            self._file.truncate(0)
        self._hash = hashlib.md5(usedforsecurity=False)
        self._file.seek(0)
        while chunk := self._file.read(_CHUNK):
            self._hash.update(chunk)
        self.length = self._file.tell()
        self.continued = False

    def write(self, chunk: bytes) -> None:
        try:
            self._file.write(chunk)
        except OSError as error:  # caught here: outside, it would look like a network error
            raise _unwritable(error) from error
        self._hash.update(chunk)
        self.length += len(chunk)
        if self.length > self._most:
            limit = "announced" if self._remote.size is not None else "allowed"
            raise ExternalServiceError(f"The file is larger than the {megabytes(self._most)} {limit}.")

    def verify(self) -> str:
        """Check and return the MD5. If a continued download is wrong, it is fetched once more from the start."""
        size, md5 = self._remote.size, self._hash.hexdigest()
        wrong = (
            f"has {self.length} bytes instead of {size}"
            if size is not None and size != self.length
            else f"has the MD5 {md5} instead of {self._remote.md5}"
            if self._remote.md5 not in (None, md5)
            else None
        )
        if wrong and self.continued:
            self.restart()
            raise Broken("an earlier part did not fit")
        if wrong:
            raise ExternalServiceError(f"The file arrived damaged: it {wrong}. Try again later.")
        return md5

    def finish(self, target: Path) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._path.replace(target)


def _transfer(
    site: Site,
    remote: RemoteFile,
    part: _Part,
    progress: Progress | None,
    cancelled: Flag | None,
    until: float,
) -> str:
    headers = {}
    if part.may_continue:
        headers["Range"] = f"bytes={part.length}-"
        if part.validator:
            headers["If-Range"] = part.validator
    else:
        part.restart()
    asked = urllib.request.Request(ascii_url(remote.url), headers=headers)  # noqa: S310 - see Site.admit
    try:
        with opened(site, asked, cancelled, until - time.monotonic()) as response:
            if response.status == 206 and _continues(response, part.length):
                part.continued = True
            else:
                part.restart()
            validator = response.headers.get("ETag", "")
            part.validator = validator if validator.startswith('"') else None
            total = _total(response, part.length, remote.size)
            received = 0
            while chunk := response.read1(_CHUNK):
                part.write(chunk)
                received += len(chunk)
                if progress is not None:
                    progress(part.length, total)
            check_whole(site, response, received)
    except HttpError as error:
        if error.status == 416:  # our part is longer than the file: it is not the same file
            part.restart()
            raise Broken("the earlier part did not fit") from None
        raise
    return part.verify()


def _continues(response: http.client.HTTPResponse, length: int) -> bool:
    return (response.headers.get("Content-Range") or "").startswith(f"bytes {length}-")


def _total(response: http.client.HTTPResponse, length: int, size: int | None) -> int | None:
    left = announced(response)
    return size if left is None else length + left
