# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and Stop, and the way to the tab."""

from typing import Any

import bpy

from ..base.errors import BridgeError
from . import redraw, state

__all__ = ("ran_before", "register", "unregister")

#: An attribute of WindowManager, which outlives the extension's modules: the server ran when it was disabled.
_RAN = "mcp_bridge_ran"


class MCP_BRIDGE_OT_start(bpy.types.Operator):
    """Let assistants on this computer connect to this Blender"""

    bl_idname = "mcp_bridge.start"
    bl_label = "Start MCP Bridge"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if state.running_bridge():
            cls.poll_message_set("MCP Bridge is running")
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
            cls.poll_message_set("MCP Bridge is not running")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[Any]:
        from ..server import bridge

        bridge.stop()
        state.refresh()
        return {"FINISHED"}


class MCP_BRIDGE_OT_open_tab(bpy.types.Operator):
    """Show the tab MCP in the sidebar of the 3D view"""

    bl_idname = "mcp_bridge.open_tab"
    bl_label = "Open the MCP Tab"

    def execute(self, context: bpy.types.Context) -> set[Any]:
        windows = [context.window, *context.window_manager.windows]
        areas = (area for window in windows if window is not None for area in window.screen.areas)
        area = next((area for area in areas if area.type == "VIEW_3D"), None)
        if area is None:
            self.report(
                {"WARNING"}, "The tab is in the sidebar of the 3D view: open one, and press N over it"
            )
            return {"CANCELLED"}
        space: Any = area.spaces.active
        space.show_region_ui = True
        area.tag_redraw()
        state.end_welcome()
        redraw.choose_tab(area)
        return {"FINISHED"}


class MCP_BRIDGE_OT_hide_welcome(bpy.types.Operator):
    """Hide this button for good"""

    bl_idname = "mcp_bridge.hide_welcome"
    bl_label = "Hide"
    bl_options = {"INTERNAL"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        state.end_welcome()
        return {"FINISHED"}


_CLASSES = (MCP_BRIDGE_OT_start, MCP_BRIDGE_OT_stop, MCP_BRIDGE_OT_open_tab, MCP_BRIDGE_OT_hide_welcome)


def ran_before() -> bool:
    """Whether the server ran when the extension was disabled, as it is while it is updated; True once."""
    ran = hasattr(bpy.types.WindowManager, _RAN)
    if ran:
        delattr(bpy.types.WindowManager, _RAN)
    return ran


def register() -> None:
    """Register the operators."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    """Unregister them; an extension that is updated is enabled again, and starts as it was."""
    if state.running_bridge():
        setattr(bpy.types.WindowManager, _RAN, True)
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
