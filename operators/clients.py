# SPDX-License-Identifier: GPL-3.0-or-later
"""Connect a client: write or copy its configuration; shut a client out."""

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..base.enabling.late import late
from ..base.errors import BridgeError, ExternalServiceError
from . import state
from .dialogs import dialog_size
from .reports import reports_errors

if TYPE_CHECKING:
    from ..server.clients import token_store
    from ..server.clients.config import files, snippets, table
else:
    files, snippets, table = (
        late(f"server.clients.config.{name}") for name in ("files", "snippets", "table")
    )

__all__ = ("register", "unregister")

_FORMS = (
    ("stdio", "Command", "The client starts a small program that finds Blender by itself"),
    ("http", "HTTP", "The client connects to this Blender's address"),
    ("ws", "WebSocket", "The client connects to this Blender's address by WebSocket"),
)


@cache
def _programs() -> list[tuple[str, str, str]]:
    """The programs to choose from. The cache keeps these texts alive: Blender uses them, but holds no reference."""
    return [(kind.id, kind.label, "") for kind in table.CLIENTS]


def _clients(_operator: object, _context: object) -> list[tuple[str, str, str]]:
    """The choices of `client`, as a function that Blender calls when it needs them: a list would load `table` early."""
    return _programs()


class MCP_BRIDGE_OT_copy_configuration(bpy.types.Operator):
    """Copy the lines that connect this client to Blender. They contain a token for this client only"""

    bl_idname = "mcp_bridge.copy_configuration"
    bl_label = "Copy Client Configuration"

    client: EnumProperty(
        name="Client",
        description="The program that the assistant runs in",
        items=_clients,
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
        kind = table.find(properties.client)
        return f"Copy the lines that connect {kind.label} to Blender. Paste them into {_place(kind)}"

    def execute(self, context: bpy.types.Context) -> set[Any]:
        kind = table.find(self.client)
        here = state.here()
        try:
            snippets.snippet(kind, self.form, here, "")  # before a token is made that nobody gets
            facts = snippets.copied(kind, self.form, here)
            _, token = state.store().mint(kind.label, copied=facts, replaces=self.replaces)
        except (BridgeError, ValueError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        context.window_manager.clipboard = snippets.snippet(kind, self.form, here, token)
        place = _place(kind)
        folder = os.path.dirname(os.path.expanduser(place))
        state.show_paste_place(
            state.Pasted(kind.label, place, kind.how, folder if os.path.isdir(folder) else "")
        )
        self.report({"INFO"}, f"Copied the configuration for {kind.label}: paste it into {place}")
        return {"FINISHED"}


class MCP_BRIDGE_OT_connect_client(bpy.types.Operator):
    """Write what connects this client to Blender into its own configuration file, after showing it"""

    bl_idname = "mcp_bridge.connect_client"
    bl_label = "Connect"

    client: EnumProperty(
        name="Client",
        description="The program that the assistant runs in",
        items=_clients,
        options={"SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: bpy.types.Context, properties: bpy.types.OperatorProperties) -> str:
        kind = table.find(properties.client)
        return f"Show what connects {kind.label} to Blender, and write it into {_place(kind)} if you agree"

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        kind = table.find(self.client)
        try:
            self.shown = _proposed(kind, _HIDDEN)
        except BridgeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return context.window_manager.invoke_props_dialog(
            self,
            width=dialog_size.of(context).width,
            title=f"Connect {kind.label}",
            confirm_text="Write",
            cancel_default=True,
        )

    def draw(self, context: bpy.types.Context) -> None:
        from ..panels import connecting

        kind = table.find(self.client)
        connecting.draw(self.layout, kind, self.shown, snippets.link(kind, state.here()), context)

    def execute(self, context: bpy.types.Context) -> set[Any]:
        kind = table.find(self.client)
        path = files.where(kind, sys.platform, os.environ)
        facts = {**snippets.copied(kind, "stdio", state.here()), "file": str(path)}
        own = [entry.id for entry in _written(kind)]
        minted = ""
        try:
            if getattr(self, "shown", _proposed(kind, _HIDDEN)) != _proposed(kind, _HIDDEN):
                raise ExternalServiceError(f"{path} has changed meanwhile: look at it again.")
            # The file has one entry: the new token replaces the one that stood there.
            entry, token = state.store().mint(kind.label, copied=facts, replaces=own[0] if own else "")
            minted = entry.id
            for client_id in own:
                _shut_out(client_id)
            files.write(_proposed(kind, token))
        except BridgeError as error:
            if minted:
                _shut_out(minted)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        state.refresh()
        self.report({"INFO"}, f"Wrote {path}. Restart {kind.label} to connect it")
        return {"FINISHED"}


class MCP_BRIDGE_OT_answer_pairing(bpy.types.Operator):
    """Let this program in from now on. It should show the same code; if it does not, refuse it"""

    bl_idname = "mcp_bridge.answer_pairing"
    bl_label = "Allow"
    bl_options = {"INTERNAL"}

    code: StringProperty(options={"SKIP_SAVE"})
    allowed: BoolProperty(default=True, options={"SKIP_SAVE"})

    @classmethod
    def description(cls, context: bpy.types.Context, properties: bpy.types.OperatorProperties) -> str:
        return (
            cls.__doc__ or ""
            if properties.allowed
            else "Keep this program out until MCP Bridge is stopped and started again"
        )

    @reports_errors
    def execute(self, context: bpy.types.Context) -> set[Any]:
        bridge = state.running_bridge()
        name = bridge.pairings.answer(self.code, self.allowed) if bridge and bridge.pairings else ""
        state.refresh()
        if not name:
            self.report({"WARNING"}, "This program no longer asks to connect")
            return {"CANCELLED"}
        self.report({"INFO"}, f"{name} may connect" if self.allowed else f"{name} may not connect")
        return {"FINISHED"}


class MCP_BRIDGE_OT_take_out_client(bpy.types.Operator):
    """Take Blender out of this client's configuration file, and shut it out"""

    bl_idname = "mcp_bridge.take_out_client"
    bl_label = "Take Out"

    client_id: StringProperty(options={"SKIP_SAVE"})

    @classmethod
    def description(cls, context: bpy.types.Context, properties: bpy.types.OperatorProperties) -> str:
        entry = _entry(properties.client_id)
        return f"Take Blender out of {entry.copied['file']}" if entry else cls.__doc__ or ""

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        return context.window_manager.invoke_confirm(
            self, event, title="Take Blender out of this client's file?", confirm_text="Take Out"
        )

    @reports_errors
    def execute(self, context: bpy.types.Context) -> set[Any]:
        entry = _entry(self.client_id)
        if entry is None or "file" not in entry.copied:
            self.report({"ERROR"}, "This client's configuration was not written by Blender")
            return {"CANCELLED"}
        path = Path(entry.copied["file"])
        change = files.disconnect(table.find(entry.copied["client"]), path)
        if change.before is not None and change.before != change.after:
            files.write(change)
        _shut_out(entry.id)
        self.report({"INFO"}, f"{entry.name} is no longer connected")
        return {"FINISHED"}


class MCP_BRIDGE_OT_hide_hint(bpy.types.Operator):
    """Hide this hint"""

    bl_idname = "mcp_bridge.hide_hint"
    bl_label = "Hide"
    bl_options = {"INTERNAL"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        state.show_paste_place(None)
        return {"FINISHED"}


class MCP_BRIDGE_OT_revoke_client(bpy.types.Operator):
    """Revoke this client's token: its configuration stops working at once, for good"""

    bl_idname = "mcp_bridge.revoke_client"
    bl_label = "Revoke Client"
    bl_options = {"INTERNAL"}

    client_id: StringProperty(options={"SKIP_SAVE"})

    @reports_errors
    def execute(self, context: bpy.types.Context) -> set[Any]:
        if not state.store().revoke(self.client_id):
            self.report({"WARNING"}, "This client was revoked before")
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

    @reports_errors
    def execute(self, context: bpy.types.Context) -> set[Any]:
        state.store().list_every_tool(self.client_id, self.every)
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

    @reports_errors
    def execute(self, context: bpy.types.Context) -> set[Any]:
        state.store().forget(self.client_id)
        state.refresh()
        return {"FINISHED"}


#: The dialog shows this text in the place of the token.
_HIDDEN = "a token of its own"


def _proposed(kind: "table.ClientKind", token: str) -> "files.Change":
    """The change of a client's file that connects it. Raises ExternalServiceError if the file cannot be edited."""
    path = files.where(kind, sys.platform, os.environ)
    return files.connect(kind, path, snippets.entry(kind, "stdio", state.here(), token))


def _written(kind: "table.ClientKind") -> "list[token_store.Entry]":
    """The entries of this client that were written into its file and are still good."""
    return [
        entry
        for entry in state.store().entries()
        if entry.copied.get("client") == kind.id and "file" in entry.copied and entry.revoked is None
    ]


def _entry(client_id: str) -> "token_store.Entry | None":
    return next((entry for entry in state.view.clients if entry.id == client_id), None)


def _shut_out(client_id: str) -> None:
    """Revoke a client, end its connections, and remove it from the list. Raises BridgeError."""
    state.store().revoke(client_id)
    bridge = state.running_bridge()
    if bridge:
        bridge.disconnect(client_id)
    state.store().forget(client_id)
    state.refresh()


def _place(kind: "table.ClientKind") -> str:
    return table.place(kind, sys.platform, os.environ)


_CLASSES = (
    MCP_BRIDGE_OT_connect_client,
    MCP_BRIDGE_OT_answer_pairing,
    MCP_BRIDGE_OT_take_out_client,
    MCP_BRIDGE_OT_copy_configuration,
    MCP_BRIDGE_OT_hide_hint,
    MCP_BRIDGE_OT_revoke_client,
    MCP_BRIDGE_OT_list_every_tool,
    MCP_BRIDGE_OT_forget_client,
)


register, unregister = bpy.utils.register_classes_factory(_CLASSES)
