# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Blender follows a render, where a user has several: the one that holds the lock of the render's folder."""

from __future__ import annotations

from pathlib import Path

from ...base import locks

__all__ = ("claim", "let_go")

_FILE = "claim"
_held: dict[Path, locks.Held] = {}


def claim(folder: Path) -> bool:
    """Whether the render that is kept in `folder` is this Blender's to follow from now on.

    It is not where another Blender that lives follows it, or this one already.
    """
    if folder in _held or not folder.is_dir():  # the lock would make a folder of a render that is gone
        return False
    try:
        held = locks.take(folder / _FILE)
    except OSError:
        return False
    if held is None:
        return False
    _held[folder] = held
    return True


def let_go(folder: Path) -> None:
    """Another Blender, or the next start, may follow it."""
    if folder in _held:
        _held.pop(folder).release()
