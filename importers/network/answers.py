# SPDX-License-Identifier: GPL-3.0-or-later
"""Small answers of a service to a request. Worker threads only; no `bpy` here.

Only `request` sends credentials, and never with a redirect. It can be cancelled at any time and has a time limit.
`transport` decides which hosts may be reached.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ...base.errors import ExternalServiceError
from ...base.flag import Flag
from .attempts import check_whole, retried
from .transport import Site, ascii_url, megabytes, opened, shown

__all__ = ("Answer", "request")

#: Seconds that a whole request may take.
REQUEST_S = 60.0
#: The most bytes of an API's answer.
MOST_ANSWER = 32 * 1024 * 1024


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
            check_whole(site, response, len(data))
            named = {name.lower(): value for name, value in response.headers.items()}
            return Answer(site, url, response.status, named, data)

    return once() if asked.get_method() != "GET" else retried(once, cancelled)
