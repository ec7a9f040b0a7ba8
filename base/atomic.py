# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all. The one place that replaces a file by new contents."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ("write",)

#: Characters: a name may have 255 bytes, and what is added has to fit too.
_LONGEST_NAME = 50


def write(path: Path, data: bytes, *, mode: int | None = None, on_disk: bool = False) -> None:
    """Replace `path` by `data` in one step: nobody sees half of it, and an error leaves nothing behind.

    Args:
        path: in a folder that is there.
        mode: the file's permissions, such as 0o600; without one those that a new file gets.
        on_disk: return only once the disk has it. A power cut may otherwise take it back.

    Raises:
        OSError: it cannot be written; what was there before is untouched.
    """
    scratch = path.with_name(f".{path.name[:_LONGEST_NAME]}.{secrets.token_hex(8)}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(scratch, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if on_disk:
                file.flush()
                os.fsync(file.fileno())
        if mode is not None:
            os.chmod(scratch, mode)  # whatever the umask took
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
