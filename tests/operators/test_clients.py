# SPDX-License-Identifier: GPL-3.0-or-later
"""Copying a configuration and revoking a client, in this Blender, tried over a real socket."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.operators import clients, state
from bl_ext.user_default.mcp_bridge.server import bridge, tools
from bl_ext.user_default.mcp_bridge.server.clients import discovery
from bl_ext.user_default.mcp_bridge.server.clients.config import table
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from support.running.ports import free_port


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A list of clients that is empty before and after."""
    monkeypatch.setenv("BLENDER_PORT", str(free_port()))
    path = discovery.user_folder() / "clients.json"
    path.unlink(missing_ok=True)
    yield state.store()
    bridge.stop()
    path.unlink(missing_ok=True)
    state.show_paste_place(None)


@pytest.fixture
def copy() -> Any:
    """The button, with a clipboard that can be read: without a window Blender has none."""

    def press(client: str, form: str = "stdio", replaces: str = "") -> dict[str, Any]:
        clipboard = SimpleNamespace(clipboard="")
        reports: list[str] = []
        pressed = SimpleNamespace(
            client=client, form=form, replaces=replaces, report=lambda kind, text: reports.append(text)
        )
        context = SimpleNamespace(window_manager=clipboard)
        result = clients.MCP_BRIDGE_OT_copy_configuration.execute(pressed, context)
        return {"result": result, "text": clipboard.clipboard, "reports": reports}

    return press


def _asks(token: str) -> int:
    running = bridge.current()
    assert running
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_operators_are_there() -> None:
    for name in (
        "connect_client",
        "take_out_client",
        "copy_configuration",
        "hide_hint",
        "revoke_client",
        "forget_client",
        "start",
        "stop",
    ):
        assert getattr(bpy.ops.mcp_bridge, name).get_rna_type()


def test_what_is_copied_lets_its_client_in_and_says_where_it_goes(store: Any, copy: Any) -> None:
    bpy.ops.mcp_bridge.start()
    copied = copy("cursor", "http")
    server = json.loads(copied["text"])["mcpServers"]["blender"]
    assert server["url"] == bridge.current().url
    assert _asks(server["headers"]["Authorization"].removeprefix("Bearer ")) == 200
    assert [entry.name for entry in store.entries()] == ["Cursor"]
    assert copied["reports"] == ["Copied the configuration for Cursor: paste it into ~/.cursor/mcp.json"]
    assert state.view.pasted.label == "Cursor"
    bpy.ops.mcp_bridge.hide_hint()
    assert state.view.pasted is None


def test_the_command_starts_a_python_and_a_shim_that_are_there(copy: Any) -> None:
    server = json.loads(copy("claude_desktop")["text"])["mcpServers"]["blender"]
    assert Path(server["command"]).is_file()
    assert Path(server["args"][-1]).name == "stdio_shim.py"
    assert Path(server["args"][-1]).is_file()


def test_no_token_is_made_for_an_address_that_is_not_there(store: Any, copy: Any) -> None:
    copied = copy("cursor", "http")
    assert copied["result"] == {"CANCELLED"}
    assert "press Start first" in copied["reports"][0]
    assert store.entries() == ()


def test_a_revoked_client_is_cut_off_at_once_and_shut_out(store: Any, copy: Any) -> None:
    bpy.ops.mcp_bridge.start()
    token = json.loads(copy("cursor")["text"])["mcpServers"]["blender"]["env"]["BLENDER_MCP_TOKEN"]
    [entry] = store.entries()
    url = f"{bridge.current().websocket_url}?token={token}"
    with connect(url, subprotocols=["mcp"], proxy=None) as connection:
        assert bpy.ops.mcp_bridge.revoke_client(client_id=entry.id) == {"FINISHED"}
        with pytest.raises(ConnectionClosed):
            connection.recv(timeout=30)
    assert _asks(token) == 401
    state.refresh()
    assert [notice.text for notice in state.view.notices] == ["used a revoked token"]


def test_copying_anew_takes_the_place_of_the_old_one(store: Any, copy: Any) -> None:
    copy("cursor")
    [old] = store.entries()
    copy("cursor", replaces=old.id)
    [new] = store.entries()
    assert new.id != old.id
    assert new.name == "Cursor"


def test_a_client_is_shown_every_tool_and_told_of_it(store: Any, copy: Any) -> None:
    bpy.ops.mcp_bridge.start()
    token = json.loads(copy("cursor")["text"])["mcpServers"]["blender"]["env"]["BLENDER_MCP_TOKEN"]
    [entry] = store.entries()
    told: list[Any] = []
    bridge.current().features.listen(lambda *what: told.append(what))
    url = f"{bridge.current().websocket_url}?token={token}"
    with connect(url, subprotocols=["mcp"], proxy=None) as connection:

        def names() -> set[str]:
            connection.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}))
            while "result" not in (message := json.loads(connection.recv(timeout=30))):
                assert message["method"] == "notifications/tools/list_changed"
            return {tool["name"] for tool in message["result"]["tools"]}

        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        connection.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))
        connection.recv(timeout=30)
        connection.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        assert names() == {function.__name__ for function in tools.CORE} - tools.out_of_use()
        bpy.ops.mcp_bridge.list_every_tool(client_id=entry.id, every=True)
        assert told == [("list_changed", "tools")]
        assert names() == {tool.name for tool in tools.all_tools()}
        bpy.ops.mcp_bridge.list_every_tool(client_id=entry.id, every=False)
        assert names() == {function.__name__ for function in tools.CORE} - tools.out_of_use()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: nobody's files are written."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_client_is_connected_by_its_own_file_and_taken_out_again(store: Any, home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    before = '{\n  // mine\n  "mcpServers": {"other": {"command": "x"}}\n}\n'
    path.write_text(before)
    bpy.ops.mcp_bridge.start()
    assert bpy.ops.mcp_bridge.connect_client(client="cursor") == {"FINISHED"}
    written = path.read_text()
    server = json.loads(written.replace("// mine", ""))["mcpServers"]
    assert server["other"] == {"command": "x"}
    token = server["blender"]["env"]["BLENDER_MCP_TOKEN"]
    assert _asks(token) == 200
    [entry] = state.view.clients
    assert (entry.name, entry.copied["file"]) == ("Cursor", str(path))
    # Once more: the file has room for one, so the first token goes.
    bpy.ops.mcp_bridge.connect_client(client="cursor")
    [again] = state.view.clients
    assert again.id != entry.id
    assert _asks(token) == 401
    assert bpy.ops.mcp_bridge.take_out_client(client_id=again.id) == {"FINISHED"}
    assert path.read_text() == before
    assert state.view.clients == ()


def test_a_file_that_cannot_be_edited_is_left_and_no_token_is_kept(store: Any, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text("mcp_servers = {}\n")
    with pytest.raises(RuntimeError, match="is left as it is"):
        bpy.ops.mcp_bridge.connect_client(client="codex")
    assert path.read_text() == "mcp_servers = {}\n"
    assert store.entries() == ()


def test_taking_out_where_the_user_has_done_so_already(store: Any, home: Path) -> None:
    bpy.ops.mcp_bridge.connect_client(client="gemini")
    (home / ".gemini" / "settings.json").unlink()
    [entry] = state.view.clients
    assert bpy.ops.mcp_bridge.take_out_client(client_id=entry.id) == {"FINISHED"}
    assert state.view.clients == ()
    with pytest.raises(RuntimeError, match="was not written by Blender"):
        bpy.ops.mcp_bridge.take_out_client(client_id=entry.id)


def test_programs_are_found_by_what_they_left_in_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setattr(state, "_looked", None)
    (home / ".cursor").mkdir()
    (home / "codex").write_text("#!/bin/sh\n")
    (home / "codex").chmod(0o700)
    state.refresh()
    assert [kind.id for kind in state.view.installed] == ["cursor", "codex"]
    monkeypatch.setattr(state, "_looked", None)


def test_a_revoked_client_can_be_removed_from_the_list(store: Any, copy: Any) -> None:
    copy("zed")
    [entry] = store.entries()
    bpy.ops.mcp_bridge.revoke_client(client_id=entry.id)
    assert state.view.clients[0].revoked
    bpy.ops.mcp_bridge.forget_client(client_id=entry.id)
    assert state.view.clients == ()


def test_an_unusable_list_is_reported(store: Any, copy: Any) -> None:
    store.path.parent.mkdir(parents=True, exist_ok=True)
    store.path.write_text("{")
    assert copy("zed")["reports"][0].startswith(f"The list of clients in {store.path} cannot be used")
    state.refresh()
    assert "cannot be used" in state.view.error
    with pytest.raises(RuntimeError, match="cannot be used"):
        bpy.ops.mcp_bridge.revoke_client(client_id="x")


def test_every_entry_of_the_menu_says_where_its_configuration_goes() -> None:
    for kind in table.CLIENTS:
        properties = SimpleNamespace(client=kind.id)
        text = clients.MCP_BRIDGE_OT_copy_configuration.description(bpy.context, properties)
        assert text.startswith(f"Copy the lines that connect {kind.label} to Blender. Paste them into ")
        assert not text.endswith(".")
