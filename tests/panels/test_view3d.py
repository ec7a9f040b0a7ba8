# SPDX-License-Identifier: GPL-3.0-or-later
"""What the MCP tab shows in each state. How it looks is seen in tests/window."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.settings import Settings
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.panels import view3d
from bl_ext.user_default.mcp_bridge.server.clients.config.snippets import Notice
from bl_ext.user_default.mcp_bridge.server.clients.token_store import Entry

from support.on_screen.layout import CONTEXT, Drawn, draw, layout

LIMITS = ["time_limit_s", "memory_limit_mb", "output_limit_kb", "rate_limit", "asset_services"]
RUNNING = {"address": "127.0.0.1:9876", "port": 9876}


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def show(**fields: Any) -> Drawn:
        monkeypatch.setattr(state, "view", state.View(**fields))
        drawn = draw(
            view3d.MCP_BRIDGE_PT_server, view3d.MCP_BRIDGE_PT_clients, view3d.MCP_BRIDGE_PT_execution
        )
        into, meant = layout()
        for name in ("confirm", "rehearse", "level", *LIMITS):
            view3d._draw_meaning(into, name, CONTEXT)
        drawn.leave_out(meant)
        drawn.labels.remove("Limits")  # a title that is always there
        return drawn

    return show


STOPPED = "Let assistants on this computer work in this Blender."


def test_stopped_it_is_one_sentence_and_one_button(show: Any) -> None:
    drawn = show()
    assert drawn.operators() == ["mcp_bridge.start"]
    assert drawn.text == STOPPED
    assert not view3d.MCP_BRIDGE_PT_clients.poll(CONTEXT)
    assert not view3d.MCP_BRIDGE_PT_execution.poll(CONTEXT)
    assert drawn.menus == ["MCP_BRIDGE_MT_connect", "MCP_BRIDGE_MT_copy_configuration"]
    assert drawn.properties == ["execute_enabled", "confirm", "rehearse", "level", "dry_run", *LIMITS]


def test_running_without_a_client(show: Any) -> None:
    drawn = show(**RUNNING)
    assert drawn.operators() == ["mcp_bridge.stop"]
    assert drawn.labels == ["Running on port 9876", "None connected"]


def test_running_with_clients(show: Any) -> None:
    drawn = show(**RUNNING, connected=("Claude Desktop", "Cursor"))
    assert drawn.labels == ["Running on port 9876", "Claude Desktop", "Cursor"]


def test_a_program_that_asks_to_come_in_is_shown_with_its_code(show: Any) -> None:
    drawn = show(**RUNNING, asking=(("Claude Desktop", "48-21"),))
    assert "Claude Desktop wants to connect: allow it? Its code is 48-21" in drawn.text
    assert drawn.operators()[:2] == ["mcp_bridge.answer_pairing"] * 2


def test_an_error_is_shown_whole(show: Any) -> None:
    text = "Port 9876 on 127.0.0.1 is in use by another program. Stop that program or choose another port."
    drawn = show(error=text)
    assert drawn.text == f"{text} {STOPPED}"
    assert drawn.icons[0] == "ERROR"


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        (Settings(confirm="auto"), True),
        (Settings(confirm="auto", execute_enabled=False), False),
        (Settings(confirm="panel"), False),
        (Settings(), False),
    ],
)
def test_running_scripts_unasked_is_warned_of(show: Any, settings: Settings, warned: bool) -> None:
    assert ("run scripts here without asking" in show(**RUNNING, settings=settings).text) is warned


@pytest.mark.parametrize("enabled", [True, False])
def test_where_scripts_can_run_the_page_about_security_is_near(
    monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    monkeypatch.setattr(state, "view", state.View(settings=Settings(execute_enabled=enabled)))
    into, drawn = layout()
    view3d.MCP_BRIDGE_PT_execution.draw_header_preset(SimpleNamespace(layout=into), None)
    pages = [button.url for name, button in drawn.buttons if name == "wm.url_open"]
    assert pages == ([view3d.SECURITY.as_uri()] if enabled else [])
    assert view3d.SECURITY.read_text(encoding="utf-8").startswith("# Security")


def test_an_open_port_is_warned_of(show: Any) -> None:
    drawn = show(address="0.0.0.0:9876", port=9876, open_to_network=True)
    assert "Other computers can connect, on port 9876." in drawn.text


def test_where_to_paste_is_shown_after_copying(show: Any) -> None:
    pasted = state.Pasted(
        "Cursor", "~/.cursor/mcp.json", "Settings > MCP > New MCP Server", "/home/ada/.cursor"
    )
    drawn = show(pasted=pasted)
    assert (
        "Copied for Cursor Paste it into ~/.cursor/mcp.json In Cursor: Settings > MCP > New MCP" in drawn.text
    )
    assert drawn.operators()[1:] == ["mcp_bridge.hide_hint", "wm.path_open"]
    assert drawn.buttons[2][1].filepath == "/home/ada/.cursor"


def test_a_stale_configuration_can_be_copied_anew_or_revoked(show: Any) -> None:
    entry = Entry("id1", "Zed", "", "", copied={"client": "zed", "form": "http"})
    notice = Notice("id1", "Zed", "connects to port 9999, but Blender listens on 9876")
    drawn = show(**RUNNING, clients=(entry,), notices=(notice,))
    assert "Zed connects to port 9999, but Blender listens on 9876." in drawn.text
    (_, again), (_, revoke) = drawn.buttons[1:]
    assert vars(again) == {"client": "zed", "form": "http", "replaces": "id1"}
    assert vars(revoke) == {"client_id": "id1"}


def test_a_client_that_was_revoked_can_be_forgotten(show: Any) -> None:
    facts = {"client": "zed", "form": "stdio"}
    entry = Entry("id1", "Zed", "", "", revoked="2026-11-21T00:00:00+00:00", copied=facts)
    drawn = show(**RUNNING, clients=(entry,), notices=(Notice("id1", "Zed", "used a revoked token"),))
    assert drawn.operators()[1:] == ["mcp_bridge.copy_configuration", "mcp_bridge.forget_client"]


def test_each_setting_says_what_it_means_for_the_next_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        state, "view", state.View(**RUNNING, settings=Settings(level="math", rehearse="always"))
    )
    drawn = draw(view3d.MCP_BRIDGE_PT_execution)
    assert "The script waits in the MCP panel until you allow it" in drawn.text
    assert "Each script is rehearsed first" in drawn.text
    assert "Scripts are Python without Blender" in drawn.text
    assert "A script that runs longer is stopped and undone" in drawn.text


def test_that_scripts_are_only_checked_is_told_at_the_top(show: Any) -> None:
    said = "Scripts are only checked: none changes anything."
    assert said in show(**RUNNING, settings=Settings(dry_run=True)).text
    assert said not in show(**RUNNING).text


def test_what_the_environment_decides_is_shown_as_it_is_and_cannot_be_changed(show: Any) -> None:
    origins = MappingProxyType({"confirm": "environment", "execute_enabled": "policy file"})
    drawn = show(settings=Settings(confirm="auto", execute_enabled=False, origins=origins))
    assert drawn.properties == ["rehearse", "level", "dry_run", *LIMITS]
    at = drawn.labels.index("Ask Me")
    assert drawn.labels[at - 1 : at + 3] == ["", "Ask Me", "Never", "by the environment"]
    assert drawn.icons[at - 1 : at + 3] == ["CHECKBOX_DEHLT", "NONE", "LOCKED", "NONE"]
    assert "Locked by the policy file: Let assistants run scripts" in drawn.text
