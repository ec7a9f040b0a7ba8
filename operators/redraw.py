# SPDX-License-Identifier: GPL-3.0-or-later
"""Redraw everything that shows the extension's state: panels, headers, the top bar and the status bar."""

from __future__ import annotations

from functools import partial
from typing import Any

import bpy

__all__ = ("choose_tab", "everywhere")


def everywhere() -> None:
    """Redraw each editor that shows the extension's state, the top bars and the status bars. Main thread."""
    windows = bpy.context.window_manager.windows
    for window in windows:
        for area in window.screen.areas:
            if area.type in {"VIEW_3D", "PREFERENCES"}:
                area.tag_redraw()
            elif window.parent is not None:  # such a window has no bars: the item is in the headers
                for region in area.regions:
                    if region.type == "HEADER":
                        region.tag_redraw()
    if windows:
        _draw_bars(windows[0].workspace)


def _draw_bars(workspace: bpy.types.WorkSpace) -> None:
    """Redraw the top bar and the status bar. Python cannot tag them: a notification that their data changed does it."""
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
