# SPDX-License-Identifier: GPL-3.0-or-later
"""What waits for the user, the dialog that shows one request, and what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..operators import state
from ..operators.request_lists import LINES, ROWS, SUMMARY, is_listed, picture
from .text import paragraph

if TYPE_CHECKING:
    from ..approvals.request import Entry
    from ..operators.dialog_size import Room

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
        split = layout.split(factor=0.6)
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


class MCP_BRIDGE_UL_summary(bpy.types.UIList):
    """What a script would change, line by line."""

    bl_idname = "MCP_BRIDGE_UL_summary"

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
        layout.label(text=item.name, translate=False)


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
        return bool(state.view.requests or state.view.trusted or state.view.alerts)

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        if state.view.waiting:
            self.layout.label(text=f"{state.view.waiting} waiting", translate=False)

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        manager = context.window_manager
        for alert in state.view.alerts:
            _draw_alert(layout.box(), alert, context)
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
        for entry in state.view.done:
            _draw_done(column.row(), entry)
        if not state.view.done:
            column.label(text="Nothing was done yet", icon="BLANK1")


def _draw_done(row: Any, entry: Entry) -> None:
    row.label(text=entry.title, icon=_ICONS[entry.state], translate=False)
    aside = row.row()
    aside.active = False
    said = "undone" if entry.undone else entry.state
    aside.label(text=f"{said} · {entry.request.requester}", translate=False)
    if entry.state == "applied" and not entry.undone and entry.applied_revision is not None:
        button = row.row()
        button.enabled = entry.id == state.view.undoable
        button.operator("mcp_bridge.undo_request", text="", icon="LOOP_BACK").request_id = entry.id


def _draw_alert(box: Any, entry: Entry, context: bpy.types.Context) -> None:
    box.alert = True
    row = box.row()
    who = f"“{entry.title}” of {entry.request.requester}"
    if entry.broke_out:
        row.label(text="Attempt to break out", icon="ERROR")
        said = f"{who} was stopped. {entry.broke_out}"
    else:
        row.label(text="Reaching out of Blender", icon="ERROR")
        said = f"{who} tries to use {entry.alert}, outside of Blender."
    paragraph(box, said, context)
    row.operator("mcp_bridge.note_alert", text="", icon="X", emboss=False).request_id = entry.id


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


def draw_review(layout: Any, entry: Entry, operator: Any, room: Room) -> None:
    """The dialog: who asks, the script, what it would change, a no with its reason, and a choice for the future."""
    if entry.state != "waiting":
        told = f": {entry.reason}" if entry.reason else ""
        layout.label(text=f"This request is {entry.state}{told}", icon=_ICONS[entry.state], translate=False)
        return
    if not is_listed(operator) or (entry.sha256, entry.revision or 0) != (operator.sha256, operator.revision):
        layout.label(text="This has changed since it was shown: close it and look again", icon="FILE_REFRESH")
        return
    row = layout.row()
    row.label(text=_about(entry), icon="USER", translate=False)
    if entry.request.tool != "question":
        buttons = row.row()
        buttons.ui_units_x = 8
        buttons.operator("mcp_bridge.open_script", icon="TEXT").request_id = entry.id
        buttons.operator("mcp_bridge.copy_script", text="", icon="COPYDOWN").request_id = entry.id
        pictures = [(when, icon) for when in ("before", "after") if (icon := picture(entry.id, when))]
        split = layout.split(factor=0.7 if pictures else 1.0)
        _draw_script(split.column(), entry, room.script_rows)
        if pictures:
            _draw_pictures(split.column(align=True), pictures, room.script_rows)
    _draw_summary(layout, room.summary_rows)
    row = layout.row()
    row.prop(operator, "reason", text="", placeholder="Why not, for the assistant")
    button = row.row()
    button.operator_context = "EXEC_DEFAULT"
    button.ui_units_x = 5
    deny = button.operator("mcp_bridge.deny_request", text="Deny", icon="X")
    deny.request_id, deny.reason = entry.id, operator.reason
    if entry.request.tool == "execute_blender_code":
        layout.prop(operator, "trust")


def _about(entry: Entry) -> str:
    """Who asks, by which tool, since when, and how long the rehearsal took."""
    seconds = (entry.record.sandbox_result or {}).get("seconds", {})
    said = [entry.request.requester, entry.request.tool, state.view.ages.get(entry.id, "")]
    if "script" in seconds:
        said.append(f"ran {seconds['script']:.2g} s, rehearsed in {seconds['total']:.2g} s")
    return " · ".join(part for part in said if part)


def _draw_script(layout: Any, entry: Entry, rows: int) -> None:
    manager = bpy.context.window_manager
    layout.template_list(
        MCP_BRIDGE_UL_script.bl_idname,
        "",
        manager,
        LINES,
        manager,
        f"{LINES}_index",
        rows=rows,
        maxrows=rows,
    )
    if entry.alert:
        row = layout.row()
        row.alert = True
        row.label(text=f"It tries to use {entry.alert}, outside of Blender", icon="ERROR", translate=False)
    warnings = (entry.validation or {}).get("warnings", ())
    for warning in warnings[:4]:
        layout.label(text=f"Line {warning['line']}: {warning['message']}", icon="ERROR", translate=False)


def _draw_pictures(column: Any, pictures: list[tuple[str, int]], rows: int) -> None:
    """The pictures, together as high as a list with so many rows beside them."""
    for when, icon in pictures:
        label = column.row()
        label.active = False
        label.label(text=when.title())
        column.template_icon(icon_value=icon, scale=rows / 2)


def _draw_summary(layout: Any, rows: int) -> None:
    """What would change; a text of more rows than these scrolls."""
    manager = bpy.context.window_manager
    lines = getattr(manager, SUMMARY)
    if len(lines) > rows:
        layout.template_list(
            MCP_BRIDGE_UL_summary.bl_idname,
            "",
            manager,
            SUMMARY,
            manager,
            f"{SUMMARY}_index",
            rows=rows * 2 // 3,  # a row of a list is higher than a line of text
            maxrows=rows * 2 // 3,
        )
        return
    column = layout.box().column(align=True)
    column.scale_y = 0.8
    for line in lines:
        column.label(text=line.name, translate=False)


def _draw_count(header: Any, context: bpy.types.Context) -> None:
    """In the 3D view's header, so that a closed sidebar hides nothing."""
    if state.view.waiting:
        header.layout.label(text=f"MCP: {state.view.waiting} waiting", icon="QUESTION", translate=False)


_CLASSES = (
    MCP_BRIDGE_UL_requests,
    MCP_BRIDGE_UL_script,
    MCP_BRIDGE_UL_summary,
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
