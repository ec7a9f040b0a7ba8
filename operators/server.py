# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and Stop."""

from typing import Any

import bpy

from ..base.errors import BridgeError
from . import state

__all__ = ("register", "unregister")


class MCP_BRIDGE_OT_start(bpy.types.Operator):
    """Let assistants on this computer connect to this Blender"""

    bl_idname = "mcp_bridge.start"
    bl_label = "Start MCP Bridge"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if state.running_bridge():
            cls.poll_message_set("The bridge is running")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[Any]:
        from ..server import bridge  # brings in the server's libraries: not before they are needed

        try:
            bridge.start()
        except BridgeError as error:
            state.refresh()
            self.report({"WARNING"}, str(error))  # the panel shows it; an error would pop up over the panel
            return {"CANCELLED"}
        state.refresh()
        self.report({"INFO"}, f"MCP Bridge listens on {state.view.address}")
        return {"FINISHED"}


class MCP_BRIDGE_OT_stop(bpy.types.Operator):
    """Close all connections and stop listening. Assistants cannot reach this Blender until the next start"""

    bl_idname = "mcp_bridge.stop"
    bl_label = "Stop MCP Bridge"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not state.running_bridge():
            cls.poll_message_set("The bridge is not running")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[Any]:
        from ..server import bridge

        bridge.stop()
        state.refresh()
        return {"FINISHED"}


_CLASSES = (MCP_BRIDGE_OT_start, MCP_BRIDGE_OT_stop)


def register() -> None:
    """Register the operators."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    """Unregister them."""
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
