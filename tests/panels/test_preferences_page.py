# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's page in the preferences."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from bl_ext.user_default.mcp_bridge.base.settings import Settings
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.panels import preferences as root
from bl_ext.user_default.mcp_bridge.panels import preferences_page
from bl_ext.user_default.mcp_bridge.server.clients.token_store import Entry

from support.on_screen.layout import Drawn, layout

ENTRIES = (
    Entry("a", "Cursor", "", "2026-11-01T00:00:00+00:00", last_used="2026-11-20T10:00:00+00:00"),
    Entry("b", "Zed", "", "2026-11-01T00:00:00+00:00"),
    Entry("c", "Codex", "", "2026-11-01T00:00:00+00:00", revoked="2026-11-21T00:00:00+00:00"),
)


def _draw() -> Drawn:
    into, drawn = layout()
    preferences_page.draw(into, root.get())
    return drawn


def test_every_preference_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "view", state.View())
    assert sorted(_draw().properties) == sorted(root.MCP_BRIDGE_Preferences.__annotations__)


def test_clients_with_their_use_and_their_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "view", state.View(clients=ENTRIES, connected=("Cursor",)))
    drawn = _draw()
    for text in ("last used 2026-11-20", "never used", "revoked 2026-11-21"):
        assert text in drawn.labels
    assert [(name, button.client_id) for name, button in drawn.buttons if "client" in name] == [
        ("mcp_bridge.revoke_client", "a"),
        ("mcp_bridge.revoke_client", "b"),
        ("mcp_bridge.forget_client", "c"),
    ]


def test_a_client_can_be_shown_every_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    every = Entry("d", "Zed", "", "2026-11-01T00:00:00+00:00", every_tool=True)
    monkeypatch.setattr(state, "view", state.View(clients=(ENTRIES[0], every)))
    buttons = [button for name, button in _draw().buttons if name == "mcp_bridge.list_every_tool"]
    assert [(button.client_id, button.every) for button in buttons] == [("a", True), ("d", False)]


def test_without_clients_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "view", state.View())
    assert "No client has a configuration yet" in _draw().labels


def test_a_text_that_names_no_render_target_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "view", state.View(targets_error="'night' needs folder=…."))
    assert "'night' needs folder=…." in _draw().labels


def test_a_locked_setting_shows_its_value_and_who_locked_it(monkeypatch: pytest.MonkeyPatch) -> None:
    origins = MappingProxyType({"port": "environment", "dry_run": "policy file"})
    monkeypatch.setattr(
        state, "view", state.View(settings=Settings(port=9900, dry_run=True, origins=origins))
    )
    drawn = _draw()
    assert "9900 by the environment" in drawn.text
    assert "On by the policy file" in drawn.text
    assert not {"port", "dry_run"} & set(drawn.properties)
