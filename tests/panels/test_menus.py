# SPDX-License-Identifier: GPL-3.0-or-later
"""The menus behind Connect and Copy Client Configuration, and MCP Bridge in the menu Window."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.panels import menus
from bl_ext.user_default.mcp_bridge.server.clients.config import table
from bl_ext.user_default.mcp_bridge.server.clients.token_store import Entry

from support.on_screen.layout import draw


def test_every_client_is_offered_in_the_form_that_is_best_for_it() -> None:
    drawn = draw(menus.MCP_BRIDGE_MT_copy_configuration)
    assert [(button.client, button.form) for _, button in drawn.buttons] == [
        (kind.id, kind.forms[0]) for kind in table.CLIENTS
    ]
    assert drawn.menus == ["MCP_BRIDGE_MT_copy_address"]


def test_addresses_are_offered_to_those_that_can_use_them() -> None:
    found = {(button.client, button.form) for _, button in draw(menus.MCP_BRIDGE_MT_copy_address).buttons}
    assert ("claude_code", "ws") in found
    assert ("claude_code", "http") in found
    assert "claude_desktop" not in {client for client, _ in found}
    assert {form for _, form in found} == {"http", "ws"}


def test_programs_on_this_computer_are_offered_and_those_that_were_written_can_be_taken_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state, "view", state.View())
    assert draw(menus.MCP_BRIDGE_MT_connect).labels == ["No program was found that can be connected"]
    written = Entry("1", "Cursor", "", "", copied={"client": "cursor", "file": "/home/ada/.cursor/mcp.json"})
    copied = Entry("2", "Zed", "", "", copied={"client": "zed"})
    gone = Entry("3", "Codex", "", "", revoked="2026-11-21", copied={"client": "codex", "file": "/x"})
    programs = (table.find("codex"), table.find("cursor"))
    monkeypatch.setattr(state, "view", state.View(installed=programs, clients=(written, copied, gone)))
    drawn = draw(menus.MCP_BRIDGE_MT_connect)
    assert drawn.operators() == [
        "mcp_bridge.connect_client",
        "mcp_bridge.connect_client",
        "mcp_bridge.take_out_client",
    ]
    assert [button.client for _, button in drawn.buttons[:2]] == ["codex", "cursor"]
    assert drawn.buttons[2][1].client_id == "1"


def test_the_menu_window_has_what_can_be_done_now(monkeypatch: pytest.MonkeyPatch) -> None:
    always = ["mcp_bridge.copy_credits", "mcp_bridge.verify_journal", "preferences.addon_show"]
    monkeypatch.setattr(state, "view", state.View())
    drawn = draw(menus.MCP_BRIDGE_MT_window)
    assert drawn.operators() == ["mcp_bridge.open_tab", "mcp_bridge.start", *always]
    assert drawn.buttons[-1][1].module == "bl_ext.user_default.mcp_bridge"
    assert drawn.menus == ["MCP_BRIDGE_MT_connect", "MCP_BRIDGE_MT_copy_configuration"]

    waiting, done, older = (SimpleNamespace(id=name, title=f"Script {name}") for name in "123")
    render = SimpleNamespace(id="job", title="Render")
    view = state.View(
        address="127.0.0.1:9876", to_review=(waiting,), done=(done, older), undoable="2", jobs=(render,)
    )
    monkeypatch.setattr(state, "view", view)
    drawn = draw(menus.MCP_BRIDGE_MT_window)
    assert drawn.operators() == [
        "mcp_bridge.open_tab",
        "mcp_bridge.stop",
        "mcp_bridge.review_request",
        "mcp_bridge.deny_request",
        "mcp_bridge.undo_request",
        "mcp_bridge.cancel_job",
        *always,
    ]
    about = [vars(button) for _, button in drawn.buttons[2:6]]
    assert about == [{"request_id": "1"}, {"request_id": "1"}, {"request_id": "2"}, {"job_id": "job"}]
