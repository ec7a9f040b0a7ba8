# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a file completely or not at all. No other module replaces the contents of a file."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ("write",)

#: Characters of the file's name that the scratch file repeats: a name may have 255 bytes, with the suffix added here.
_LONGEST_NAME = 50


def write(path: Path, data: bytes, *, mode: int | None = None, on_disk: bool = False) -> None:
    """Replace the contents of `path` with `data` in one step: readers see the old or the new file, never a part.

    Args:
        path: its folder must exist.
        mode: the file's permissions, such as 0o600; None gives those of any new file.
        on_disk: return only after the data is on the disk. Without it, a power cut may bring the old file back.

    Raises:
        OSError: the file cannot be written. The old file is unchanged, and no scratch file remains.
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
            os.chmod(scratch, mode)  # the umask may have removed permissions
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
