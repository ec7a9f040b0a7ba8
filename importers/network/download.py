# SPDX-License-Identifier: GPL-3.0-or-later
"""All requests to the network: small answers with `request`, files with `fetch`. Worker threads only.

Only `request` sends credentials, and never with a redirect. Every transfer can be cancelled at any time and has a time
limit. A failed transfer leaves no file; a download that the end of the process interrupted continues later.
`transport` decides which hosts may be reached. No `bpy` here.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import random
import re
import shutil
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import urlencode

from ...base.errors import ExternalServiceError
from .transport import POLL_S, Broken, Cancelled, Flag, HttpError, Site, ascii_url, opened, shown

__all__ = (
    "Answer",
    "Cancelled",
    "Flag",
    "HttpError",
    "Progress",
    "RemoteFile",
    "Site",
    "fetch",
    "megabytes",
    "request",
    "wait",
)

T = TypeVar("T")

#: Called with the bytes so far and the total bytes, None while the total is unknown.
Progress = Callable[[int, int | None], None]

#: Seconds that a whole request, or a whole file, may take.
REQUEST_S = 60.0
FILE_S = 3600.0
#: How often a GET is tried, and the longest wait between two tries that a service may request.
ATTEMPTS = 3
LONGEST_WAIT_S = 30.0
#: The most bytes of an API's answer, and of a file whose size is unknown.
MOST_ANSWER = 32 * 1024 * 1024
MOST_FILE = 8 * 1024 * 1024 * 1024

_CHUNK = 256 * 1024
_BACKOFF_S = 0.5
_RETRIED = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that a service offers: its address, and its MD5 (hexadecimal) and size in bytes if known."""

    url: str
    md5: str | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        # The cache uses the MD5 as a file name.
        if self.md5 is not None and not re.fullmatch("[0-9a-f]{32}", self.md5):
            raise ExternalServiceError(
                f"The service names {str(self.md5)[:40]!r} as an MD5, which it is not."
            )


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a service."""

    site: Site
    url: str
    status: int
    headers: Mapping[str, str]
    data: bytes

    def json(self) -> Any:
        """The JSON of the answer. Raises ExternalServiceError if it is something else, such as a web page."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            kind = self.headers.get("content-type", "something unnamed").partition(";")[0]
            raise ExternalServiceError(
                f"{self.site.name} answered {shown(self.url)} with {kind} instead of JSON; "
                "a proxy or a sign-in page may stand in between."
            ) from None


def request(
    site: Site,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    credentials: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    method: str | None = None,
    cancelled: Flag | None = None,
    seconds: float = REQUEST_S,
    most: int = MOST_ANSWER,
) -> Answer:
    """Send a request to a service; `path` is relative to its base URL, or a full URL of the service.

    A GET is tried again after 429, 5xx and broken connections; a request with a body is sent exactly once.
    `credentials` are headers that go to this URL only, and only if it is below the base URL.
    Raises HttpError for a status of 400 and above, ExternalServiceError, Cancelled.
    """
    url = path if "://" in path else site.base + path
    if query:
        url += ("&" if "?" in url else "?") + urlencode(query, doseq=True)
    if credentials and not url.startswith(site.base + "/"):
        raise ExternalServiceError(f"{site.name}: the key is not sent to {shown(url)}.")
    site.admit(url)
    asked = urllib.request.Request(ascii_url(url), data=body, method=method, headers=dict(headers or {}))  # noqa: S310 - see Site.admit
    for name, value in (credentials or {}).items():
        asked.add_unredirected_header(name, value)

    def once() -> Answer:
        with opened(site, asked, cancelled, seconds) as response:
            data = response.read(most + 1)
            if len(data) > most:
                raise ExternalServiceError(
                    f"{site.name} answered {shown(url)} with more than {megabytes(most)}."
                )
            _check_whole(site, response, len(data))
            named = {name.lower(): value for name, value in response.headers.items()}
            return Answer(site, url, response.status, named, data)

    return once() if asked.get_method() != "GET" else _retried(once, cancelled)


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
            md5 = _retried(lambda: _transfer(site, remote, part, progress, cancelled, until), cancelled)
            part.finish(target)
    except OSError as error:  # an error of the disk: network errors are ExternalServiceError
        raise _unwritable(error) from error
    return md5


def wait(seconds: float, cancelled: Flag | None) -> None:
    """Sleep for `seconds`. Raises Cancelled as soon as somebody cancels."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if cancelled is not None and cancelled.is_set():
            raise Cancelled("Cancelled.")
        time.sleep(min(POLL_S, left))


def megabytes(size: int) -> str:
    """A number of bytes as a text for people."""
    return (
        f"{size / 1e6:.0f} MB" if size >= 10e6 else f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"
    )


def _check_space(folder: Path, size: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(folder).free < size:
        raise ExternalServiceError(f"The file has {megabytes(size)}, and the disk of {folder} has less left.")


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
            announced = "announced" if self._remote.size is not None else "allowed"
            raise ExternalServiceError(f"The file is larger than the {megabytes(self._most)} {announced}.")

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
            _check_whole(site, response, received)
    except HttpError as error:
        if error.status == 416:  # our part is longer than the file: it is not the same file
            part.restart()
            raise Broken("the earlier part did not fit") from None
        raise
    return part.verify()


def _continues(response: http.client.HTTPResponse, length: int) -> bool:
    return (response.headers.get("Content-Range") or "").startswith(f"bytes {length}-")


def _total(response: http.client.HTTPResponse, length: int, size: int | None) -> int | None:
    announced = _announced(response)
    return size if announced is None else length + announced


def _announced(response: http.client.HTTPResponse) -> int | None:
    text = response.headers.get("Content-Length") or ""
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _check_whole(site: Site, response: http.client.HTTPResponse, received: int) -> None:
    announced = _announced(response)
    if announced is not None and received < announced:
        raise Broken(f"{site.name}: the connection ended after {received} of {announced} bytes")


# ---------------------------------------------------------------------------------------------------- retries


def _retried(once: Callable[[], T], cancelled: Flag | None) -> T:
    for attempt in range(ATTEMPTS):
        try:
            return once()
        except Broken as error:
            if attempt + 1 == ATTEMPTS:
                raise ExternalServiceError(f"{error} ({ATTEMPTS} attempts).") from error.__cause__
            pause = _pause(attempt)
        except HttpError as error:
            pause = _pause(attempt) if error.retry_after is None else error.retry_after
            if error.status not in _RETRIED or attempt + 1 == ATTEMPTS or pause > LONGEST_WAIT_S:
                raise
        wait(pause, cancelled)
    raise AssertionError("unreachable")


def _pause(attempt: int) -> float:
    # Many clients that fail at the same time must not retry at the same time.
    return _BACKOFF_S * (1 << attempt) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
