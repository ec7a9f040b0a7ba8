# SPDX-License-Identifier: GPL-3.0-or-later
"""The menus behind Copy Client Configuration."""

from __future__ import annotations

from bl_ext.user_default.mcp_bridge.panels import menus
from bl_ext.user_default.mcp_bridge.server import client_config

from support.layout import draw


def test_every_client_is_offered_in_the_form_that_is_best_for_it() -> None:
    drawn = draw(menus.MCP_BRIDGE_MT_copy_configuration)
    assert [(button.client, button.form) for _, button in drawn.buttons] == [
        (kind.id, kind.forms[0]) for kind in client_config.CLIENTS
    ]
    assert drawn.menus == ["MCP_BRIDGE_MT_copy_address"]


def test_addresses_are_offered_to_those_that_can_use_them() -> None:
    found = {(button.client, button.form) for _, button in draw(menus.MCP_BRIDGE_MT_copy_address).buttons}
    assert ("claude_code", "ws") in found
    assert ("claude_code", "http") in found
    assert "claude_desktop" not in {client for client, _ in found}
    assert {form for _, form in found} == {"http", "ws"}
