# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode input pictures from base64. No `bpy`."""

from __future__ import annotations

import base64
import binascii

from ...base.errors import InvalidParamsError
from .api import Picture

__all__ = ("decode", "recognise")

_MOST = 10 * 1024 * 1024


def decode(text: str) -> Picture:
    """A picture from base64, with or without `data:image/…;base64,` before it. Raises InvalidParamsError."""
    try:
        return recognise(base64.b64decode(text.rpartition(",")[2], validate=True))
    except binascii.Error:
        raise InvalidParamsError("A picture is not valid base64.") from None


def recognise(data: bytes) -> Picture:
    """A picture in a format that Rodin accepts. Raises InvalidParamsError for others."""
    if len(data) > _MOST:
        raise InvalidParamsError(
            f"A picture has {len(data) / 1e6:.0f} MB; Rodin takes at most 10 MB for each."
        )
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Picture(data, "png")
    if data.startswith(b"\xff\xd8\xff"):
        return Picture(data, "jpeg")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Picture(data, "webp")
    raise InvalidParamsError("A picture is neither PNG nor JPEG nor WebP.")
