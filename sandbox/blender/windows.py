# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards what an editor has only after a window has drawn it: Blender uses it without checking that it exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bpy

from ..guard.seam import BlenderHost, Reader

__all__ = ("READERS", "check_shown", "is_shown")


def is_shown(value: Any) -> bool:
    """Return whether a window shows the editor that `value` is, or is a part of."""
    if bpy.app.background:
        return False
    for window in bpy.context.window_manager.windows:
        if window.screen == value.id_data:
            spaces = [area.spaces.active for area in window.screen.areas]
            return value in spaces or any(getattr(space, "region_3d", None) == value for space in spaces)
    return False


def check_shown(_host: BlenderHost, owner: Any, _arguments: Mapping[str, Any]) -> None:
    """Check that a window shows the editor whose drawn state a function uses.

    Raises:
        RuntimeError: no window shows the editor.
    """
    if not is_shown(owner):
        raise RuntimeError(
            f"{type(owner).__name__}: no window shows this editor, so that it has no such state"
        )


def _read_shown(host: BlenderHost, value: Any, name: str) -> Any:
    check_shown(host, value, {})
    return getattr(value, name)


READERS: dict[str, Reader] = {
    "SpaceNodeEditor.cursor_location": _read_shown,
    "SpaceProperties.search_filter": _read_shown,
    "SpaceProperties.tab_search_results": _read_shown,
}
"""Readers of properties that need a drawn editor, by `Struct.property`."""
