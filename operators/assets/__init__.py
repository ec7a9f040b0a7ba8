# SPDX-License-Identifier: GPL-3.0-or-later
"""Assets of services: what the panel *Assets* shows, and what its buttons do."""

from __future__ import annotations

from . import asset_view, buttons, importing, placing
from .buttons import PREFIX, Options

__all__ = ("PREFIX", "Options", "register", "unregister")

_PARTS = (buttons, importing, placing, asset_view)


def register() -> None:
    """Register the operators, and what is chosen in the panel."""
    for part in _PARTS:
        part.register()


def unregister() -> None:
    """Undo `register`."""
    for part in reversed(_PARTS):
        part.unregister()
