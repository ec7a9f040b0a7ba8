# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Blender follows a render, where a user has several: the one that holds the lock of the render's folder.

The system lets go of it when that Blender ends, in any way.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

__all__ = ("claim", "let_go")

_FILE = "claim"
_held: dict[Path, IO[bytes]] = {}


def claim(folder: Path) -> bool:
    """Whether the render that is kept in `folder` is this Blender's to follow from now on.

    It is not where another Blender that lives follows it, or this one already.
    """
    if folder in _held:
        return False
    path = folder / _FILE
    try:
        if sys.platform == "win32":
            path.unlink(missing_ok=True)  # refused while another process has it open
        file = path.open("wb")
    except OSError:
        return False
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
    _held[folder] = file
    return True


def let_go(folder: Path) -> None:
    """Another Blender, or the next start, may follow it."""
    if folder in _held:
        _held.pop(folder).close()
