# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the version of Blender that wrote a .blend, from its first bytes. No `bpy`."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

__all__ = ("version",)

_ENOUGH = 32
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
#: Up to 4.5 "BLENDER-v402", from 5.0 on "BLENDER17-01v0500".
_HEADER = re.compile(rb"BLENDER(?:[-_][vV](\d)(\d\d)|\d\d-\d\dv(\d\d)(\d\d))")


def version(path: Path) -> tuple[int, int] | None:
    """The major and minor version; None if it is unknown. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(4096)
    found = _HEADER.match(_unpacked(path, start))
    if found is None:
        return None
    major, minor = (int(part) for part in found.groups() if part is not None)
    return major, minor


def _unpacked(path: Path, start: bytes) -> bytes:
    if start.startswith(_GZIP):
        try:
            with gzip.open(path) as file:
                return file.read(_ENOUGH)
        except (OSError, EOFError):
            return b""
    if start.startswith(_ZSTANDARD):
        return _zstandard(start)
    return start


def _zstandard(start: bytes) -> bytes:
    """The first bytes of the first frame. Blender's own builds have the module `zstandard`, those of Linux
    distributions may not.
    """
    try:
        import zstandard
    except ImportError:
        return b""
    try:
        with zstandard.ZstdDecompressor().stream_reader(start) as reader:
            return bytes(reader.read(_ENOUGH))  # limited: a kilobyte may unpack to a hundred megabytes
    except zstandard.ZstdError:
        return b""
