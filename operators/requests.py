# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's decisions: review a request, apply it, deny it, trust a client."""

from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, IntProperty, StringProperty

from ..errors import BridgeError
from ..sandbox import review
from ..sandbox.review.request import Entry
from . import state

__all__ = ("LINES", "ROWS", "register", "unregister")

#: Names of collections on WindowManager, for the lists that a panel or a dialog scrolls through.
ROWS, LINES = "mcp_bridge_requests", "mcp_bridge_script_lines"
_WIDTH = 640
_MOST_LINES = 5000
_BY = "the user in the panel"


class MCP_BRIDGE_Row(bpy.types.PropertyGroup):
    """A row of a list: a request's id, or a line of its script. Its `name` says it all."""


def _waiting(request_id: str) -> Entry | None:
    """The request, if it is before the user in the panel."""
    entry = state.request(request_id)
    return entry if entry and entry.state == "waiting" and entry.asks == "panel" else None


class MCP_BRIDGE_OT_review_request(bpy.types.Operator):
    """Read the script and what it would change, then let it run or not"""

    bl_idname = "mcp_bridge.review_request"
    bl_label = "Review Script"
    bl_options = {"INTERNAL"}

    request_id: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    sha256: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    revision: IntProperty(options={"HIDDEN", "SKIP_SAVE"}, default=-1)
    trust: BoolProperty(
        name="Do Not Ask about This Client Until Blender Closes",
        description="Scripts that this client sends by execute_blender_code run at once, within the sandbox. "
        "Whole scripts that it injects are still shown to you first",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        state.refresh()
        entry = _waiting(self.request_id)
        if entry is None:
            self.report({"WARNING"}, "This request does not wait for an answer any more")
            return {"CANCELLED"}
        self.sha256, self.revision = entry.sha256, entry.revision or 0  # what is shown is what is agreed to
        _fill(getattr(context.window_manager, LINES), entry.script.splitlines()[:_MOST_LINES])
        return context.window_manager.invoke_props_dialog(
            self, width=_WIDTH, title=entry.title, confirm_text="Apply to Live", cancel_default=True
        )

    def draw(self, context: bpy.types.Context) -> None:
        from ..panels import requests

        entry = state.request(self.request_id)
        if entry is not None:
            requests.draw_review(self.layout, entry, self)

    def execute(self, context: bpy.types.Context) -> set[Any]:
        desk = review.current()
        try:
            if desk is None:
                raise BridgeError("The bridge does not run any more")
            entry = desk.confirm(self.request_id, sha256=self.sha256, revision=self.revision, by=_BY)
        except BridgeError as error:
            self.report({"WARNING"}, str(error))
            return {"CANCELLED"}
        if self.trust and entry.request.tool == "execute_blender_code":
            desk.trust(entry.request.client_id, entry.request.requester)
        state.refresh()
        return {"FINISHED"}


class MCP_BRIDGE_OT_deny_request(bpy.types.Operator):
    """Do not let this script run; the assistant is told why"""

    bl_idname = "mcp_bridge.deny_request"
    bl_label = "Deny Script"
    bl_options = {"INTERNAL"}

    request_id: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    reason: StringProperty(
        name="Reason",
        description="What the assistant is told, so that it can do better",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        return context.window_manager.invoke_props_dialog(self, width=360, confirm_text="Deny")

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        layout.label(text="Tell the assistant why (optional):")
        layout.activate_init = True
        layout.prop(self, "reason", text="")

    def execute(self, context: bpy.types.Context) -> set[Any]:
        desk = review.current()
        try:
            if desk is not None:
                desk.deny(self.request_id, self.reason.strip())
        except BridgeError as error:
            self.report({"WARNING"}, str(error))
            return {"CANCELLED"}
        state.refresh()
        return {"FINISHED"}


class MCP_BRIDGE_OT_copy_script(bpy.types.Operator):
    """Copy the script, to read it in an editor"""

    bl_idname = "mcp_bridge.copy_script"
    bl_label = "Copy Script"
    bl_options = {"INTERNAL"}

    request_id: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context: bpy.types.Context) -> set[Any]:
        entry = state.request(self.request_id)
        if entry is None:
            return {"CANCELLED"}
        context.window_manager.clipboard = entry.script
        self.report({"INFO"}, "The script was copied")
        return {"FINISHED"}


class MCP_BRIDGE_OT_ask_again(bpy.types.Operator):
    """Ask about the scripts of this client again"""

    bl_idname = "mcp_bridge.ask_again"
    bl_label = "Ask Again"
    bl_options = {"INTERNAL"}

    client_id: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context: bpy.types.Context) -> set[Any]:
        desk = review.current()
        if desk is not None:
            desk.distrust(self.client_id)
        state.refresh()
        return {"FINISHED"}


def show_rows() -> None:
    """Make the list's rows those requests that are open. Called by `state` when something has changed."""
    rows = getattr(bpy.context.window_manager, ROWS)
    wanted = [entry.id for entry in state.view.requests if not entry.ended]
    if [row.name for row in rows] != wanted:
        _fill(rows, wanted)


def _fill(rows: Any, names: list[str]) -> None:
    rows.clear()
    for name in names:
        rows.add().name = name


_CLASSES = (
    MCP_BRIDGE_Row,
    MCP_BRIDGE_OT_review_request,
    MCP_BRIDGE_OT_deny_request,
    MCP_BRIDGE_OT_copy_script,
    MCP_BRIDGE_OT_ask_again,
)


def register() -> None:
    """Register the operators, and the rows that lists show."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    for name in (ROWS, LINES):
        setattr(bpy.types.WindowManager, name, CollectionProperty(type=MCP_BRIDGE_Row, options={"SKIP_SAVE"}))
        setattr(bpy.types.WindowManager, f"{name}_index", IntProperty(options={"SKIP_SAVE"}))
    state.listeners.append(show_rows)


def unregister() -> None:
    """Undo `register`."""
    state.listeners.remove(show_rows)
    for name in (ROWS, LINES):
        delattr(bpy.types.WindowManager, name)
        delattr(bpy.types.WindowManager, f"{name}_index")
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
