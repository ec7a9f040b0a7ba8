# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell the user in every window that a request waits, and what assistants are doing.

The items are in the top bar and the status bar of each main window. Other windows have no such bars: there the items
are in each editor's header.
"""

from __future__ import annotations

from typing import Any

import bpy

from ..operators import state

__all__ = ("register", "unregister")

#: Widths of a window in pixels at a scale of 1. From the first, the top bar has room for what assistants are doing.
#: Below the second it has room only for its menus: there a short item comes before them.
_ROOMY, _NARROW = 1500, 900
#: The most letters of a text in a bar.
_LONGEST = 60


def _draw_waiting(layout: Any, *, short: bool = False) -> None:
    """Draw the button that opens *Review* for the oldest waiting request; `short`: it shows only their number."""
    waiting = state.view.to_review
    if not waiting:
        return
    many = f"{len(waiting)} requests wait" if len(waiting) > 1 else "1 request waits"
    row = layout.row(align=True)
    row.alert = True
    button = row.operator(
        "mcp_bridge.review_request",
        text=str(len(waiting)) if short else f"{many} · {state.view.waits}",
        icon="QUESTION",
        translate=False,
    )
    button.request_id = waiting[0].id


def _draw_doing(layout: Any) -> None:
    doing = state.view.doing
    if doing:
        text = doing if len(doing) <= _LONGEST else f"{doing[: _LONGEST - 1]}…"
        layout.label(text=text, icon="SORTTIME", translate=False)


def _draw_welcome(layout: Any) -> None:
    """Draw the button that leads to the tab after the installation."""
    if state.view.new:
        row = layout.row(align=True)
        row.operator("mcp_bridge.open_tab", icon="INFO")
        row.operator("mcp_bridge.hide_welcome", text="", icon="X")


def _is_wide(context: bpy.types.Context, pixels: int) -> bool:
    """Whether the window has so many pixels at a scale of 1."""
    window = context.window
    return window is None or window.width >= pixels * context.preferences.system.ui_scale


def _draw_before_menus(menu: Any, context: bpy.types.Context) -> None:
    """Draw a short item before the menus of a narrow window, where an item after them would not be visible."""
    if not _is_wide(context, _NARROW):
        _draw_waiting(menu.layout, short=True)


def _draw_after_menus(menu: Any, context: bpy.types.Context) -> None:
    """Draw the items before the tabs of the workspaces, which scroll if there is too little room."""
    if _is_wide(context, _NARROW):
        _draw_waiting(menu.layout)
    _draw_welcome(menu.layout)
    if _is_wide(context, _ROOMY):
        _draw_doing(menu.layout)


def _draw_status_bar(header: Any, context: bpy.types.Context) -> None:
    """Draw at the left, since Blender cuts off what does not fit at the right."""
    _draw_waiting(header.layout)
    _draw_doing(header.layout)


def _draw_header(header: Any, context: bpy.types.Context) -> None:
    if context.window is not None and context.window.parent is not None:
        _draw_waiting(header.layout)


def _headers() -> list[Any]:
    """The headers of all editors of this Blender."""
    bars = ("STATUSBAR_HT_header", "TOPBAR_HT_upper_bar")
    known = (cls for cls in bpy.types.Header.__subclasses__() if cls.__module__.startswith("bl_ui."))
    return [cls for cls in known if cls.__name__.endswith("_HT_header") and cls.__name__ not in bars]


def register() -> None:
    """Add the items to all bars."""
    bpy.types.TOPBAR_MT_editor_menus.prepend(_draw_before_menus)
    bpy.types.TOPBAR_MT_editor_menus.append(_draw_after_menus)
    bpy.types.STATUSBAR_HT_header.prepend(_draw_status_bar)
    for cls in _headers():
        cls.append(_draw_header)


def unregister() -> None:
    """Undo `register`."""
    for cls in _headers():
        cls.remove(_draw_header)
    bpy.types.STATUSBAR_HT_header.remove(_draw_status_bar)
    bpy.types.TOPBAR_MT_editor_menus.remove(_draw_after_menus)
    bpy.types.TOPBAR_MT_editor_menus.remove(_draw_before_menus)
