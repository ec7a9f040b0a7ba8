# SPDX-License-Identifier: GPL-3.0-or-later
"""What waits for the user, the dialog that shows one request, and what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..operators import state
from ..operators.requests import LINES, ROWS

if TYPE_CHECKING:
    from ..sandbox.review.request import Entry

__all__ = ("draw_review", "register", "unregister")

_ICONS = {
    "received": "SORTTIME",
    "extracted": "SORTTIME",
    "validated": "SORTTIME",
    "rehearsed": "SORTTIME",
    "waiting": "QUESTION",
    "confirmed": "PLAY",
    "applied": "CHECKMARK",
    "rejected": "CANCEL",
    "failed": "ERROR",
    "denied": "X",
    "expired": "TIME",
    "cancelled": "PANEL_CLOSE",
}
_SAID = {
    "received": "being read",
    "extracted": "being checked",
    "validated": "being rehearsed",
    "rehearsed": "was rehearsed",
    "waiting": "waits for you",
    "confirmed": "runs",
}
_MOST_DONE = 12
_MOST_SUMMARY = 24
_LONGEST_LINE = 100


class MCP_BRIDGE_UL_requests(bpy.types.UIList):
    """Open requests: state, title, client, age."""

    bl_idname = "MCP_BRIDGE_UL_requests"

    def draw_item(
        self,
        context: Any,
        layout: Any,
        data: Any,
        item: Any,
        icon: Any,
        active_data: Any,
        active_property: Any,
        index: Any = 0,
        flt_flag: Any = 0,
    ) -> None:
        entry = state.request(item.name)
        if entry is None:
            return
        split = layout.split(factor=0.5)
        split.label(text=entry.title, icon=_ICONS[entry.state], translate=False)
        right = split.row()
        right.active = False
        right.label(text=entry.request.requester, translate=False)
        right.label(text=state.view.ages.get(entry.id, ""), translate=False)


class MCP_BRIDGE_UL_script(bpy.types.UIList):
    """A script with the numbers of its lines."""

    bl_idname = "MCP_BRIDGE_UL_script"

    def draw_item(
        self,
        context: Any,
        layout: Any,
        data: Any,
        item: Any,
        icon: Any,
        active_data: Any,
        active_property: Any,
        index: Any = 0,
        flt_flag: Any = 0,
    ) -> None:
        split = layout.split(factor=0.07)
        number = split.row()
        number.active = False
        number.alignment = "RIGHT"
        number.label(text=str(index + 1), translate=False)
        split.label(text=item.name, translate=False)


class MCP_BRIDGE_PT_requests(bpy.types.Panel):
    """What assistants ask for. Hidden as long as nobody has asked for anything."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MCP"
    bl_idname = "MCP_BRIDGE_PT_requests"
    bl_parent_id = "MCP_BRIDGE_PT_server"
    bl_label = "Requests"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return bool(state.view.requests or state.view.trusted)

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        if state.view.waiting:
            self.layout.label(text=f"{state.view.waiting} waiting", translate=False)

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        manager = context.window_manager
        rows = getattr(manager, ROWS)
        if not rows:
            layout.label(text="Nothing waits for you", icon="BLANK1")
        else:
            layout.template_list(
                MCP_BRIDGE_UL_requests.bl_idname, "", manager, ROWS, manager, f"{ROWS}_index", rows=2
            )
            chosen = rows[min(getattr(manager, f"{ROWS}_index"), len(rows) - 1)]
            entry = state.request(chosen.name)
            if entry is not None:
                _draw_buttons(layout, entry)
        for client_id, name in state.view.trusted:
            row = layout.row()
            row.label(text=f"{name} is not asked about", icon="UNLOCKED", translate=False)
            row.operator("mcp_bridge.ask_again", text="", icon="X").client_id = client_id


class MCP_BRIDGE_PT_activity(bpy.types.Panel):
    """What became of requests."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MCP"
    bl_idname = "MCP_BRIDGE_PT_activity"
    bl_parent_id = MCP_BRIDGE_PT_requests.bl_idname
    bl_label = "Activity"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        done = [entry for entry in state.view.requests if entry.ended]
        for entry in done[:_MOST_DONE]:
            row = column.row()
            row.label(text=entry.title, icon=_ICONS[entry.state], translate=False)  # type: ignore[arg-type]
            aside = row.row()
            aside.active = False
            aside.label(text=f"{entry.state} · {entry.request.requester}", translate=False)
        if not done:
            column.label(text="Nothing was done yet", icon="BLANK1")


def _draw_buttons(layout: Any, entry: Entry) -> None:
    if entry.state == "waiting" and entry.asks == "panel":
        row = layout.row()
        row.scale_y = 1.4
        row.operator("mcp_bridge.review_request", text="Review…", icon="VIEWZOOM").request_id = entry.id
        row.operator("mcp_bridge.deny_request", text="Deny…", icon="X").request_id = entry.id
    elif entry.state == "waiting":
        layout.label(text=f"{entry.request.requester} asks you itself", icon="INFO", translate=False)
    else:
        layout.label(text=f"“{entry.title}” {_SAID[entry.state]}", translate=False)


def draw_review(layout: Any, entry: Entry, operator: Any) -> None:
    """The dialog: who asks, the script, what it would change, and a choice for the future."""
    row = layout.row()
    row.label(
        text=f"{entry.request.requester} · {entry.request.tool} · {state.view.ages.get(entry.id, '')}",
        icon="USER",
        translate=False,
    )
    row.operator("mcp_bridge.copy_script", text="", icon="COPYDOWN").request_id = entry.id
    manager = bpy.context.window_manager
    layout.template_list(
        MCP_BRIDGE_UL_script.bl_idname, "", manager, LINES, manager, f"{LINES}_index", rows=8, maxrows=8
    )
    warnings = (entry.validation or {}).get("warnings", ())
    for warning in warnings[:4]:
        layout.label(text=f"Line {warning['line']}: {warning['message']}", icon="ERROR", translate=False)
    column = layout.box().column(align=True)
    column.scale_y = 0.8
    lines = [line for line in entry.summary.splitlines() if line.strip()]
    for line in lines[:_MOST_SUMMARY]:
        shown = line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"
        column.label(text=shown, translate=False)
    if len(lines) > _MOST_SUMMARY:
        column.label(text=f"… and {len(lines) - _MOST_SUMMARY} more lines", translate=False)
    if entry.request.tool == "execute_blender_code":
        layout.prop(operator, "trust")


def _draw_count(header: Any, context: bpy.types.Context) -> None:
    """In the 3D view's header, so that a closed sidebar hides nothing."""
    if state.view.waiting:
        header.layout.label(text=f"MCP: {state.view.waiting} waiting", icon="QUESTION", translate=False)


_CLASSES = (
    MCP_BRIDGE_UL_requests,
    MCP_BRIDGE_UL_script,
    MCP_BRIDGE_PT_requests,
    MCP_BRIDGE_PT_activity,
)


def register() -> None:
    """Register lists and panels."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_HT_header.append(_draw_count)


def unregister() -> None:
    """Undo `register`."""
    bpy.types.VIEW3D_HT_header.remove(_draw_count)
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
