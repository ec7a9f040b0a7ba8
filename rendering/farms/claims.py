# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which of a user's Blenders follows a render: the one that holds the lock of the render's folder."""

from __future__ import annotations

from pathlib import Path

from ...base import locks

__all__ = ("claim", "let_go")

_FILE = "claim"
_held: dict[Path, locks.Held] = {}


def claim(folder: Path) -> bool:
    """Claim the render in `folder` for this Blender; return whether it got the claim.

    It does not if another running Blender follows the render, or if this one does already.
    """
    if folder in _held or not folder.is_dir():  # the lock would make the folder of a removed render again
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
    """Release a render, so that another Blender, or the next start, may follow it."""
    if folder in _held:
        _held.pop(folder).release()
