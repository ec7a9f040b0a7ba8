# SPDX-License-Identifier: GPL-3.0-or-later
"""The menus behind Connect and Copy Client Configuration, and MCP Bridge in the menu Window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..base.enabling.late import late
from ..operators import state
from . import preferences

if TYPE_CHECKING:
    from ..approvals.request import Entry
    from ..server.clients.config import table
else:
    table = late("server.clients.config.table")

__all__ = ("register", "unregister")

_FORMS = {"http": "HTTP", "ws": "WebSocket"}


class MCP_BRIDGE_MT_connect(bpy.types.Menu):
    """Choose one of the programs on this computer that assistants run in"""

    bl_idname = "MCP_BRIDGE_MT_connect"
    bl_label = "Connect…"

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        for kind in state.view.installed:
            button = layout.operator("mcp_bridge.connect_client", text=kind.label, translate=False)
            button.client = kind.id
        if not state.view.installed:
            layout.label(text="No program was found that can be connected")
        written = [entry for entry in state.view.clients if "file" in entry.copied and entry.revoked is None]
        if written:
            layout.separator()
        for entry in written:
            button = layout.operator(
                "mcp_bridge.take_out_client", text=f"Take Out {entry.name}", icon="X", translate=False
            )
            button.client_id = entry.id


class MCP_BRIDGE_MT_copy_configuration(bpy.types.Menu):
    """Choose the program that your assistant runs in"""

    bl_idname = "MCP_BRIDGE_MT_copy_configuration"
    bl_label = "Copy Client Configuration"

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        for kind in table.CLIENTS:
            _entry(layout, kind, kind.forms[0], kind.label)
        layout.separator()
        layout.menu(MCP_BRIDGE_MT_copy_address.bl_idname)


class MCP_BRIDGE_MT_copy_address(bpy.types.Menu):
    """For a client on another system (WSL, a container) or one that cannot start programs"""

    bl_idname = "MCP_BRIDGE_MT_copy_address"
    bl_label = "By Address"

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        layout.enabled = bool(state.view.address)
        for kind in table.CLIENTS:
            for form in kind.forms:
                if form in _FORMS:
                    _entry(layout, kind, form, f"{kind.label} ({_FORMS[form]})")


def _entry(layout: bpy.types.UILayout, kind: table.ClientKind, form: str, text: str) -> None:
    button = layout.operator("mcp_bridge.copy_configuration", text=text, translate=False)
    button.client = kind.id
    button.form = form


class MCP_BRIDGE_MT_window(bpy.types.Menu):
    """What MCP Bridge can do; Blender's menu search (F3) finds it here"""

    bl_idname = "MCP_BRIDGE_MT_window"
    bl_label = "MCP Bridge"

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        view = state.view
        layout.operator("mcp_bridge.open_tab", text="MCP: Open the Tab")
        if view.address:
            layout.operator("mcp_bridge.stop", text="MCP: Stop")
        else:  # a search lists what cannot be done before what can
            layout.operator("mcp_bridge.start", text="MCP: Start")
        for entry in view.to_review:
            for kind, verb in (("review", "Review"), ("deny", "Deny")):
                _of_request(layout, entry, kind, verb)
        for entry in view.done:
            if entry.id == view.undoable:
                _of_request(layout, entry, "undo", "Undo")
        for work in view.jobs:
            button = layout.operator(
                "mcp_bridge.cancel_job", text=f"MCP: Cancel “{work.title}”", translate=False
            )
            button.job_id = work.id
        layout.separator()
        layout.menu(MCP_BRIDGE_MT_connect.bl_idname, text="MCP: Connect…")
        layout.menu(MCP_BRIDGE_MT_copy_configuration.bl_idname, text="MCP: Copy Client Configuration")
        layout.separator()
        layout.operator("mcp_bridge.copy_credits", text="MCP: Copy Credits of Assets")
        layout.operator("mcp_bridge.verify_journal", text="MCP: Verify Journal")
        layout.operator("preferences.addon_show", text="MCP: Preferences…").module = preferences.EXTENSION


def _of_request(layout: Any, entry: Entry, kind: str, verb: str) -> None:
    button = layout.operator(
        f"mcp_bridge.{kind}_request", text=f"MCP: {verb} “{entry.title}”", translate=False
    )
    button.request_id = entry.id


def _draw_in_window_menu(menu: Any, context: bpy.types.Context) -> None:
    menu.layout.separator()
    menu.layout.menu(MCP_BRIDGE_MT_window.bl_idname)


_CLASSES = (
    MCP_BRIDGE_MT_connect,
    MCP_BRIDGE_MT_copy_address,
    MCP_BRIDGE_MT_copy_configuration,
    MCP_BRIDGE_MT_window,
)


def register() -> None:
    """Register the menus."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.TOPBAR_MT_window.append(_draw_in_window_menu)


def unregister() -> None:
    """Unregister them."""
    bpy.types.TOPBAR_MT_window.remove(_draw_in_window_menu)
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
