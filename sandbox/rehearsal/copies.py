# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes over a copy that a confined Blender saved. It trusts nothing in it: it only copies bytes."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from ...base.errors import ExternalServiceError

__all__ = ("MOST_MB", "is_blend", "is_compressed", "take")

#: The most bytes of such a copy.
MOST_MB = 16_384
_PLAIN, _PACKED = b"BLENDER", (b"\x28\xb5\x2f\xfd", b"\x1f\x8b")


def is_blend(head: bytes) -> bool:
    """Return whether a file with these first bytes may be a .blend: plain, or compressed by zstd or gzip."""
    return head.startswith((_PLAIN, *_PACKED))


def is_compressed(path: Path) -> bool:
    """Return whether a .blend is compressed. Raises OSError."""
    with path.open("rb") as file:
        return file.read(4).startswith(_PACKED)


def take(source: Path, to: Path) -> None:
    """Copy a .blend that a confined process wrote to `to`, which must not exist; follow no link.

    Raises ExternalServiceError if it is no .blend, is too large, or cannot be read or written.
    """
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(source, flags), "rb") as file, to.open("xb") as written:
            kind = os.fstat(file.fileno())
            if not stat.S_ISREG(kind.st_mode) or kind.st_size > MOST_MB << 20:
                raise ExternalServiceError("The confined Blender left no ordinary file, or a huge one.")
            head = file.read(8)
            if not is_blend(head):
                raise ExternalServiceError("The confined Blender left a file that is no .blend.")
            written.write(head)
            shutil.copyfileobj(file, written, 1 << 20)
    except OSError as error:
        raise ExternalServiceError(f"The copy cannot be taken: {error.strerror or error}.") from None
