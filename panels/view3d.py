# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCP tab in the sidebar of the 3D view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from ..operators import state
from . import confinement, connecting, jobs, preferences, requests, review, setting
from .text import paragraph

if TYPE_CHECKING:
    from ..server.clients.config.snippets import Notice
    from ..server.clients.token_store import Entry

__all__ = ("SECURITY", "register", "unregister")


class _Tab:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MCP"


class MCP_BRIDGE_PT_server(_Tab, bpy.types.Panel):
    """Whether assistants can connect, and how they do."""

    bl_idname = "MCP_BRIDGE_PT_server"
    bl_label = "MCP Bridge"

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        view = state.view
        if view.error:
            paragraph(layout.box(), view.error, context, icon="ERROR")
        connecting.draw_asking(layout, view.asking, context)
        jobs.draw(layout)
        confinement.draw_failure(layout, context)
        if view.address:
            row = layout.row()
            row.label(text=f"Running on port {view.port}", icon="LINKED", translate=False)
            button = row.row()
            button.ui_units_x = 3
            button.operator("mcp_bridge.stop", text="Stop")
        else:
            paragraph(layout, "Let assistants on this computer work in this Blender.", context)
            row = layout.row()
            row.scale_y = 1.4
            row.operator("mcp_bridge.start", text="Start", icon="PLAY")
        if view.settings.dry_run and view.settings.execute_enabled:
            box = layout.box()
            box.alert = True
            paragraph(box, "Scripts are only checked: none changes anything.", context, icon="INFO")
        if view.open_to_network:
            box = layout.box()
            box.alert = True
            paragraph(box, f"Other computers can connect, on port {view.port}.", context, icon="ERROR")
        if view.address and view.settings.execute_enabled and view.settings.confirm == "auto":
            box = layout.box()
            box.alert = True
            paragraph(box, "Assistants run scripts here without asking.", context, icon="ERROR")
            _draw_security(box, text="About Security")


class MCP_BRIDGE_PT_clients(_Tab, bpy.types.Panel):
    """Who is connected, and how to connect another."""

    bl_idname = "MCP_BRIDGE_PT_clients"
    bl_parent_id = MCP_BRIDGE_PT_server.bl_idname
    bl_label = "Clients"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return bool(state.view.address)

    def draw(self, context: bpy.types.Context) -> None:
        layout, view = self.layout, state.view
        column = layout.column(align=True)
        for name in view.connected:
            column.label(text=name, icon="CHECKMARK", translate=False)
        if view.address and not view.connected:
            column.label(text="None connected", icon="BLANK1")
        layout.menu("MCP_BRIDGE_MT_connect", icon="LINKED")
        layout.menu("MCP_BRIDGE_MT_copy_configuration", icon="COPYDOWN")
        if view.pasted:
            _draw_pasted(layout.box(), view.pasted, context)
        entries = {entry.id: entry for entry in view.clients}
        for notice in view.notices:
            _draw_notice(layout.box(), notice, entries[notice.client_id], context)


SECURITY = Path(__file__).parent.parent / "docs" / "security.md"
_LIMITS = ("time_limit_s", "memory_limit_mb", "output_limit_kb", "rate_limit", "asset_services")


class MCP_BRIDGE_PT_execution(_Tab, bpy.types.Panel):
    """Whether and how assistants' scripts run."""

    bl_idname = "MCP_BRIDGE_PT_execution"
    bl_parent_id = MCP_BRIDGE_PT_server.bl_idname
    bl_label = "Let assistants run scripts"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return bool(state.view.address) and preferences.get() is not None

    def draw_header(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        setting.draw_checkbox(layout, preferences.get(), "execute_enabled")

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        if state.view.settings.execute_enabled:
            _draw_security(self.layout, text="", emboss=False)

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.active = state.view.settings.execute_enabled
        for name in ("confirm", "rehearse", "level", "dry_run"):
            setting.draw(layout, preferences.get(), name)
            if setting.is_choice(preferences.get(), name):  # the name of another says it
                _draw_meaning(layout, name, context)
        header, limits = layout.panel("mcp_bridge_limits", default_closed=True)
        header.label(text="Limits")
        if limits:
            for name in _LIMITS:
                setting.draw(limits, preferences.get(), name)
                _draw_meaning(limits, name, context)
        locked = setting.locked(preferences.get())
        if locked:
            paragraph(layout, f"Locked by the policy file: {', '.join(locked)}", context, icon="LOCKED")
        confinement.draw(layout.column(), context)


def _draw_meaning(layout: Any, name: str, context: bpy.types.Context) -> None:
    """What a setting means for the next script, below it."""
    column = layout.column()
    column.active = False
    paragraph(column, setting.meaning(preferences.get(), name), context)


def _draw_security(layout: Any, **how: Any) -> None:
    """What scripts can and cannot do, and what is not promised, as a page that comes with the extension."""
    layout.operator("wm.url_open", icon="HELP", **how).url = SECURITY.as_uri()


def _draw_pasted(box: bpy.types.UILayout, pasted: state.Pasted, context: bpy.types.Context) -> None:
    row = box.row()
    row.label(text=f"Copied for {pasted.label}", icon="CHECKMARK", translate=False)
    row.operator("mcp_bridge.hide_hint", text="", icon="X", emboss=False)
    paragraph(box, f"Paste it into {pasted.place}", context)
    paragraph(box, f"In {pasted.label}: {pasted.how}", context)
    paragraph(
        box,
        "If other servers are there, add only the part named “blender”. Then restart the client.",
        context,
    )
    if pasted.folder:
        box.operator("wm.path_open", text="Open Its Folder", icon="FILE_FOLDER").filepath = pasted.folder


def _draw_notice(box: bpy.types.UILayout, notice: Notice, entry: Entry, context: bpy.types.Context) -> None:
    paragraph(box, f"{notice.name} {notice.text}.", context, icon="INFO")
    row = box.row(align=True)
    again = row.operator("mcp_bridge.copy_configuration", text="Copy Anew", icon="COPYDOWN")
    again.client, again.form, again.replaces = entry.copied["client"], entry.copied["form"], entry.id
    away = "mcp_bridge.forget_client" if entry.revoked else "mcp_bridge.revoke_client"
    row.operator(away, text="", icon="X").client_id = entry.id


_CLASSES = (MCP_BRIDGE_PT_server, MCP_BRIDGE_PT_clients, MCP_BRIDGE_PT_execution)


def register() -> None:
    """Register the panels."""
    server, *others = _CLASSES
    bpy.utils.register_class(server)
    review.register()
    requests.register()  # in the order in which they are shown: what waits comes first
    for cls in others:
        bpy.utils.register_class(cls)


def unregister() -> None:
    """Unregister them."""
    server, *others = _CLASSES
    for cls in reversed(others):
        bpy.utils.unregister_class(cls)
    requests.unregister()
    review.unregister()
    bpy.utils.unregister_class(server)
