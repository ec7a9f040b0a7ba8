# SPDX-License-Identifier: GPL-3.0-or-later
"""What waits for the user, and what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..operators import state
from ..operators.request_lists import ROWS
from . import target_jobs
from .text import paragraph

if TYPE_CHECKING:
    from ..approvals.request import Entry

__all__ = ("ICONS", "register", "unregister")

ICONS = {
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
#: State of a request -> what a sentence about it says.
SAID = {
    "received": "is being read",
    "extracted": "is being checked",
    "validated": "is being rehearsed",
    "rehearsed": "was rehearsed",
    "waiting": "waits for you",
    "confirmed": "runs",
    "applied": "was done",
    "failed": "failed",
    "rejected": "was refused by MCP Bridge",
    "denied": "was denied by you",
    "expired": "did not run",
    "cancelled": "was cancelled",
}
#: State of a request that has ended -> the word beside its title, which has little room.
_ENDED = {"applied": "done", "rejected": "refused", "expired": "not run"}


class MCP_BRIDGE_UL_requests(bpy.types.UIList):
    """The open requests: state, title, age. Texts that are cut off here are complete below the list."""

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
        split = layout.split(factor=0.8)
        split.label(text=entry.title, icon=ICONS[entry.state], translate=False)
        right = split.row()
        right.active = False
        right.label(text=state.view.ages.get(entry.id, ""), translate=False)


class MCP_BRIDGE_PT_requests(bpy.types.Panel):
    """The open requests of assistants. Hidden until there is one."""

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
        for refused in state.view.refused:
            _draw_refused(layout.box(), refused, context)
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
                _draw_buttons(layout, entry, context)
        for client_id, name in state.view.trusted:
            row = layout.row()
            row.label(text=f"{name} runs scripts unasked", icon="UNLOCKED", translate=False)
            row.operator("mcp_bridge.ask_again", text="", icon="X").client_id = client_id
            aside = layout.column()
            aside.active = False
            paragraph(
                aside,
                "Its next scripts run without asking you, within the limits, until Blender closes.",
                context,
            )


class MCP_BRIDGE_PT_activity(bpy.types.Panel):
    """The requests that have ended, with their outcome."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MCP"
    bl_idname = "MCP_BRIDGE_PT_activity"
    bl_parent_id = MCP_BRIDGE_PT_requests.bl_idname
    bl_label = "Activity"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        target_jobs.draw(self.layout, context)
        column = self.layout.column(align=True)
        for entry in state.view.done:
            _draw_done(column.row(), entry)
        if not state.view.done:
            column.label(text="Nothing was done yet", icon="BLANK1")


def _draw_done(row: Any, entry: Entry) -> None:
    again = row.row()
    again.alignment = "LEFT"
    button = again.operator(
        "mcp_bridge.look_again", text=entry.title, icon=ICONS[entry.state], emboss=False, translate=False
    )
    button.request_id = entry.id
    aside = row.row()
    aside.active = False
    aside.alignment = "RIGHT"
    aside.label(text="undone" if entry.undone else _ENDED.get(entry.state, entry.state), translate=False)
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


def _draw_refused(box: Any, entry: Entry, context: bpy.types.Context) -> None:
    """Draw why a script did not run: refused, not answered, or failed; the scene is as before."""
    paragraph(
        box,
        f"“{entry.title}” of {entry.request.requester} {SAID[entry.state]}.",
        context,
        icon=ICONS[entry.state],
    )
    paragraph(box, entry.reason, context)
    box.operator("mcp_bridge.note_alert", text="Dismiss").request_id = entry.id


def _draw_buttons(layout: Any, entry: Entry, context: bpy.types.Context) -> None:
    who, asked_here = entry.request.requester, entry.asks == "panel"
    if entry.state != "waiting":
        said = f"“{entry.title}” of {who} {SAID[entry.state]}"
    else:
        said = f"“{entry.title}” of {who}" if asked_here else f"“{entry.title}”: {who} asks you itself"
    paragraph(layout, said, context)
    if entry.state == "waiting" and asked_here:
        row = layout.row()
        row.scale_y = 1.4
        row.operator("mcp_bridge.review_request", text="Review…", icon="VIEWZOOM").request_id = entry.id
        row.operator("mcp_bridge.deny_request", text="Deny…", icon="X").request_id = entry.id


_CLASSES = (
    MCP_BRIDGE_UL_requests,
    MCP_BRIDGE_PT_requests,
    MCP_BRIDGE_PT_activity,
)


register, unregister = bpy.utils.register_classes_factory(_CLASSES)
