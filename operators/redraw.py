# SPDX-License-Identifier: GPL-3.0-or-later
"""Has drawn anew whatever shows the extension's state: panels, headers, the top bar and the status bar."""

from __future__ import annotations

from functools import partial
from typing import Any

import bpy

__all__ = ("choose_tab", "everywhere")


def everywhere() -> None:
    """Draw each editor that shows something of the extension, the top bars and the status bars. Main thread."""
    windows = bpy.context.window_manager.windows
    for window in windows:
        for area in window.screen.areas:
            if area.type in {"VIEW_3D", "PREFERENCES"}:
                area.tag_redraw()
            elif window.parent is not None:  # it has no bars of its own: the item is in its headers
                for region in area.regions:
                    if region.type == "HEADER":
                        region.tag_redraw()
    if windows:
        _draw_bars(windows[0].workspace)


def _draw_bars(workspace: bpy.types.WorkSpace) -> None:
    """Python reaches neither bar: they are drawn when one hears that what it shows may have changed."""
    bpy.msgbus.publish_rna(key=(bpy.types.Window, "view_layer"))  # the status bars
    workspace.use_pin_scene = workspace.use_pin_scene  # the top bars


def choose_tab(area: Any) -> None:
    """Show the tab MCP in the sidebar of this editor, once its tabs were drawn."""
    bpy.app.timers.register(partial(_choose_tab, area), first_interval=0.2)


def _choose_tab(area: Any) -> None:
    region = next(region for region in area.regions if region.type == "UI")
    try:
        region.active_panel_category = "MCP"
    except TypeError:  # it is too small to have tabs
        return
    area.tag_redraw()
