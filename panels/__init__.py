# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user sees. Panels read what `operators.state` has gathered and compute nothing."""

from __future__ import annotations

from . import assets, menus, notice, view3d

__all__ = ("register", "unregister")

_PARTS = (menus, view3d, assets, notice)


def register() -> None:
    """Register menus and panels."""
    for part in _PARTS:
        part.register()


def unregister() -> None:
    """Undo `register`."""
    for part in reversed(_PARTS):
        part.unregister()
