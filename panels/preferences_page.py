# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's page in Blender's preferences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.settings.fields import ASSETS, FILES, RECORDS, Settings
from ..base.settings.setting import Section, declared
from ..operators import state
from ..operators.assets import asset_view
from . import setting

if TYPE_CHECKING:
    import bpy

__all__ = ("draw",)

#: Section -> the settings that it shows.
_SECTIONS: dict[Section, list[str]] = {}
for _name, _one in declared(Settings).items():
    if _one.section:
        _SECTIONS.setdefault(_one.section, []).append(_name)


def draw(layout: bpy.types.UILayout, preferences: Any) -> None:
    """Draw every section; what the environment or a policy file decides is shown and cannot be changed."""
    layout.operator("mcp_bridge.open_tab", icon="INFO")
    layout.use_property_split = True
    layout.use_property_decorate = False
    for section, names in _SECTIONS.items():
        header, body = layout.panel(f"mcp_bridge_{section.title}", default_closed=section.closed)
        header.label(text=section.title)
        if body:
            for name in names:
                setting.draw(body, preferences, name)
            if section is FILES and state.view.targets_error:
                body.label(text=state.view.targets_error, icon="ERROR", translate=False)
            if section is ASSETS:
                _draw_keys(body, preferences)
            if section is RECORDS:
                body.operator("mcp_bridge.verify_journal", icon="CHECKMARK")
    header, body = layout.panel("mcp_bridge_clients")
    header.label(text="Clients")
    if body:
        _draw_clients(body)


def _draw_keys(layout: bpy.types.UILayout, preferences: Any) -> None:
    for name, service in (("sketchfab_token", "sketchfab"), ("hyper3d_key", "hyper3d"), ("fal_key", "fal")):
        row = layout.row()
        setting.draw(row, preferences, name)
        row.operator("mcp_bridge.test_key", text="Test").service = service
    if asset_view.view.key_said:
        layout.label(text=asset_view.view.key_said, icon="INFO", translate=False)


def _draw_clients(layout: bpy.types.UILayout) -> None:
    column = layout.column(align=True)
    for entry in state.view.clients:
        row = column.row()
        row.label(
            text=entry.name,
            icon="CHECKMARK" if entry.name in state.view.connected else "BLANK1",
            translate=False,
        )
        if entry.revoked:
            row.label(text=f"revoked {entry.revoked[:10]}", translate=False)
            row.operator("mcp_bridge.forget_client", text="", icon="TRASH").client_id = entry.id
        else:
            used = f"last used {entry.last_used[:10]}" if entry.last_used else "never used"
            row.label(text=used, translate=False)
            listing = row.operator(
                "mcp_bridge.list_every_tool", text="", icon="LONGDISPLAY", depress=entry.every_tool
            )
            listing.client_id, listing.every = entry.id, not entry.every_tool
            row.operator("mcp_bridge.revoke_client", text="", icon="X").client_id = entry.id
    if not state.view.clients:
        column.label(text="No client has a configuration yet")
    layout.menu("MCP_BRIDGE_MT_connect", icon="LINKED")
    layout.menu("MCP_BRIDGE_MT_copy_configuration", icon="COPYDOWN")
