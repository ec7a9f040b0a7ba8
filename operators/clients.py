# SPDX-License-Identifier: GPL-3.0-or-later
"""Give a client its configuration, and shut a client out."""

import os
import sys
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..errors import BridgeError
from ..server import client_config
from . import state

__all__ = ("register", "unregister")

_FORMS = (
    ("stdio", "Command", "The client starts a small program that finds Blender by itself"),
    ("http", "HTTP", "The client connects to this Blender's address"),
    ("ws", "WebSocket", "The client connects to this Blender's address by WebSocket"),
)


class MCP_BRIDGE_OT_copy_configuration(bpy.types.Operator):
    """Copy what connects this client to Blender, with a token of its own"""

    bl_idname = "mcp_bridge.copy_configuration"
    bl_label = "Copy Client Configuration"

    client: EnumProperty(
        name="Client",
        description="The program that the assistant runs in",
        items=[(kind.id, kind.label, "") for kind in client_config.CLIENTS],
        options={"SKIP_SAVE"},
    )
    form: EnumProperty(
        name="Connection", description="How the client reaches Blender", items=_FORMS, options={"SKIP_SAVE"}
    )
    replaces: StringProperty(
        name="Replaces",
        description="The client whose old configuration this one takes the place of",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: bpy.types.Context, properties: bpy.types.OperatorProperties) -> str:
        kind = client_config.find(properties.client)
        return f"Copy what connects {kind.label} to Blender. It goes into {_place(kind)}"

    def execute(self, context: bpy.types.Context) -> set[Any]:
        kind = client_config.find(self.client)
        here = state.here()
        try:
            client_config.snippet(kind, self.form, here, "")  # before a token is made that nobody gets
            facts = client_config.copied(kind, self.form, here)
            _, token = state.store().mint(kind.label, copied=facts, replaces=self.replaces)
        except (BridgeError, ValueError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        context.window_manager.clipboard = client_config.snippet(kind, self.form, here, token)
        place = _place(kind)
        folder = os.path.dirname(os.path.expanduser(place))
        state.copied(state.Pasted(kind.label, place, kind.how, folder if os.path.isdir(folder) else ""))
        self.report({"INFO"}, f"Copied the configuration for {kind.label}: paste it into {place}")
        return {"FINISHED"}


class MCP_BRIDGE_OT_hide_hint(bpy.types.Operator):
    """Hide this hint"""

    bl_idname = "mcp_bridge.hide_hint"
    bl_label = "Hide"
    bl_options = {"INTERNAL"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        state.copied(None)
        return {"FINISHED"}


class MCP_BRIDGE_OT_revoke_client(bpy.types.Operator):
    """Shut this client out. Its configuration stops working at once and cannot be brought back"""

    bl_idname = "mcp_bridge.revoke_client"
    bl_label = "Revoke Client"
    bl_options = {"INTERNAL"}

    client_id: StringProperty(options={"SKIP_SAVE"})

    def execute(self, context: bpy.types.Context) -> set[Any]:
        try:
            if not state.store().revoke(self.client_id):
                self.report({"WARNING"}, "This client was revoked before")
                return {"CANCELLED"}
        except BridgeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        bridge = state.running_bridge()
        if bridge:
            bridge.disconnect(self.client_id)
        state.refresh()
        return {"FINISHED"}


class MCP_BRIDGE_OT_list_every_tool(bpy.types.Operator):
    """Show this client every tool, not only the common ones. A long list costs its assistant attention"""

    bl_idname = "mcp_bridge.list_every_tool"
    bl_label = "List Every Tool"
    bl_options = {"INTERNAL"}

    client_id: StringProperty(options={"SKIP_SAVE"})
    every: BoolProperty(options={"SKIP_SAVE"})

    def execute(self, context: bpy.types.Context) -> set[Any]:
        try:
            state.store().list_every_tool(self.client_id, self.every)
        except BridgeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        bridge = state.running_bridge()
        if bridge:
            bridge.features.list_changed("tools")
        state.refresh()
        return {"FINISHED"}


class MCP_BRIDGE_OT_forget_client(bpy.types.Operator):
    """Remove this revoked client from the list"""

    bl_idname = "mcp_bridge.forget_client"
    bl_label = "Remove Client"
    bl_options = {"INTERNAL"}

    client_id: StringProperty(options={"SKIP_SAVE"})

    def execute(self, context: bpy.types.Context) -> set[Any]:
        try:
            state.store().forget(self.client_id)
        except BridgeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        state.refresh()
        return {"FINISHED"}


def _place(kind: client_config.ClientKind) -> str:
    return client_config.place(kind, sys.platform, os.environ)


_CLASSES = (
    MCP_BRIDGE_OT_copy_configuration,
    MCP_BRIDGE_OT_hide_hint,
    MCP_BRIDGE_OT_revoke_client,
    MCP_BRIDGE_OT_list_every_tool,
    MCP_BRIDGE_OT_forget_client,
)


def register() -> None:
    """Register the operators."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    """Unregister them."""
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
