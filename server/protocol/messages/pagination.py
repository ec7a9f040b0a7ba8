# SPDX-License-Identifier: GPL-3.0-or-later
"""Splits a list into pages, with opaque cursors."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TypeVar

from .errors import invalid_params

T = TypeVar("T")

#: Items on a page. Large, because several clients never ask for a second page.
PAGE_SIZE = 100


def page(
    items: Sequence[T], cursor: object, kind: str, size: int = PAGE_SIZE
) -> tuple[Sequence[T], str | None]:
    """Return the page that `cursor` points to (the first one for None), and the next page's cursor or None.

    A cursor belongs to the list `kind` that gave it. Raises RpcError (invalid params) for any other.
    """
    start = 0 if cursor is None else _position(cursor, kind)
    end = start + size
    return items[start:end], _cursor(kind, end) if end < len(items) else None


def _cursor(kind: str, position: int) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{position}".encode()).decode("ascii").rstrip("=")


def _position(cursor: object, kind: str) -> int:
    if isinstance(cursor, str):
        try:
            text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode("ascii")
        except (binascii.Error, ValueError):
            text = ""
        of, _, position = text.rpartition(":")
        if of == kind and position.isdigit() and _cursor(kind, int(position)) == cursor:
            return int(position)
    raise invalid_params(f"cursor: not one that {kind}/list gave; leave it out to begin anew")
