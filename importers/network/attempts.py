# SPDX-License-Identifier: GPL-3.0-or-later
"""Retries a transfer where a retry can help; a cancel ends the pause between two tries. Worker threads only."""

from __future__ import annotations

import http.client
import random
import time
from collections.abc import Callable
from typing import TypeVar

from ...base.errors import ExternalServiceError
from ...base.flag import Flag
from .transport import POLL_S, Broken, Cancelled, HttpError, Site

__all__ = ("announced", "check_whole", "retried", "wait")

T = TypeVar("T")

#: How often a GET is tried, and the longest wait between two tries that a service may request.
ATTEMPTS = 3
LONGEST_WAIT_S = 30.0

_BACKOFF_S = 0.5
_RETRIED = frozenset({429, 500, 502, 503, 504})


def retried(once: Callable[[], T], cancelled: Flag | None) -> T:
    """The result of `once`, which is called again after 429, 5xx and broken connections."""
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


def wait(seconds: float, cancelled: Flag | None) -> None:
    """Sleep for `seconds`. Raises Cancelled as soon as somebody cancels."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if cancelled is not None and cancelled.is_set():
            raise Cancelled("Cancelled.")
        time.sleep(min(POLL_S, left))


def check_whole(site: Site, response: http.client.HTTPResponse, received: int) -> None:
    """Raise Broken if the connection ended before the announced bytes were received."""
    expected = announced(response)
    if expected is not None and received < expected:
        raise Broken(f"{site.name}: the connection ended after {received} of {expected} bytes")


def announced(response: http.client.HTTPResponse) -> int | None:
    """The number of bytes that the answer says it has; None if it does not say so."""
    text = response.headers.get("Content-Length") or ""
    return int(text) if text.isdecimal() and len(text) < 20 else None
