# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the services' JSON documents by address; all Blenders of the user share them. No `bpy` here."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...base import atomic
from ...base.errors import ExternalServiceError
from ...base.flag import Flag
from . import answers
from .transport import HttpError, Site

__all__ = ("DOCUMENT_S", "Documents")

#: How long a document is used without a new request (seconds).
DOCUMENT_S = 12 * 3600.0


class Documents:
    """The documents in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(
        self, site: Site, path: str, *, max_age: float = DOCUMENT_S, cancelled: Flag | None = None
    ) -> Any:
        """The JSON at `path` of a service, or an old copy if the service cannot be reached.

        A copy younger than `max_age` seconds is used without a request, and an unchanged document is not sent again.
        Raises ExternalServiceError if there is neither an answer nor a copy.
        """
        kept = self._folder / f"{hashlib.sha256((site.base + path).encode()).hexdigest()}.json"
        found = _read_document(kept)
        if found is not None and 0 <= time.time() - found["time"] < max_age:
            return found["data"]
        headers = {"If-None-Match": found["etag"]} if found and found["etag"] else {}
        try:
            answer = answers.request(site, path, headers=headers, cancelled=cancelled)
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
