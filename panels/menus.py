# SPDX-License-Identifier: GPL-3.0-or-later
"""The menus behind Copy Client Configuration."""

from __future__ import annotations

from typing import Any

import bpy

from ..operators import state
from ..server import client_config

__all__ = ("register", "unregister")

_FORMS = {"http": "HTTP", "ws": "WebSocket"}


class MCP_BRIDGE_MT_copy_configuration(bpy.types.Menu):
    """Choose the program that your assistant runs in"""

    bl_idname = "MCP_BRIDGE_MT_copy_configuration"
    bl_label = "Copy Client Configuration"

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        for kind in client_config.CLIENTS:
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
        for kind in client_config.CLIENTS:
            for form in kind.forms:
                if form in _FORMS:
                    _entry(layout, kind, form, f"{kind.label} ({_FORMS[form]})")


def _entry(layout: bpy.types.UILayout, kind: client_config.ClientKind, form: str, text: str) -> None:
    button = layout.operator("mcp_bridge.copy_configuration", text=text, translate=False)
    button.client = kind.id
    button.form = form


_CLASSES = (MCP_BRIDGE_MT_copy_address, MCP_BRIDGE_MT_copy_configuration)


def register() -> None:
    """Register the menus."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    """Unregister them."""
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
