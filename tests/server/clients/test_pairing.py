# SPDX-License-Identifier: GPL-3.0-or-later
"""A program without a token asks once, and the user answers in Blender."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.process import threads
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.server import assembly, bridge
from bl_ext.user_default.mcp_bridge.server.assembly import Bridge
from bl_ext.user_default.mcp_bridge.server.clients import authenticator, discovery
from bl_ext.user_default.mcp_bridge.server.clients.pairing import LAPSE_S, MOST_ASKING, NotYet, Pairings

from support.bridges.scripted_bridge import ShimClient
from support.running.blender import installed_folder
from support.running.ports import free_port


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pairings(tmp_path: Path, clock: Clock) -> Pairings:
    return Pairings(authenticator.TokenStore(tmp_path / "clients.json"), clock)


def code_of(pairings: Pairings, name: str) -> str:
    """Ask, and read the code out of what the program is told, as its user does."""
    with pytest.raises(NotYet, match=f"{name} is not connected yet") as told:
        pairings.ask(name)
    found = re.search(r"the code (\d\d-\d\d)", str(told.value))
    assert found
    return found[1]


def test_both_sides_show_the_same_code_until_the_user_answers(pairings: Pairings) -> None:
    code = code_of(pairings, "Claude Desktop")
    assert code_of(pairings, "Claude Desktop") == code
    assert [(one.name, one.code) for one in pairings.waiting()] == [("Claude Desktop", code)]
    assert pairings.answer(code, True) == "Claude Desktop"
    assert pairings.waiting() == ()
    token = pairings.ask("Claude Desktop")
    assert pairings.ask("Claude Desktop") == token
    found = pairings.client_of(token)
    assert isinstance(found, authenticator.Entry)
    assert found.name == "Claude Desktop"
    assert pairings.client_of("another") is None
    assert pairings.client_of("\xff\xfe") is None


def test_a_client_is_asked_about_once_for_all_of_the_users_blenders(
    pairings: Pairings, tmp_path: Path
) -> None:
    pairings.answer(code_of(pairings, "Cursor"), True)
    token = pairings.ask("Cursor")
    another = Pairings(authenticator.TokenStore(tmp_path / "clients.json"))
    assert another.ask("Cursor") != token  # each run has a token of its own
    assert another.client_of(token) is None
    code_of(another, "Codex")


def test_one_that_is_refused_is_not_asked_about_again(pairings: Pairings) -> None:
    assert pairings.answer(code_of(pairings, "Codex"), False) == "Codex"
    with pytest.raises(NotYet, match="The user did not allow Codex to connect"):
        pairings.ask("Codex")
    assert pairings.waiting() == ()


def test_one_that_was_shut_out_stays_out(pairings: Pairings, tmp_path: Path) -> None:
    pairings.answer(code_of(pairings, "Zed"), True)
    token = pairings.ask("Zed")
    store = authenticator.TokenStore(tmp_path / "clients.json")
    [entry] = store.entries()
    store.revoke(entry.id)
    refusal = pairings.client_of(token)
    assert isinstance(refusal, authenticator.Refusal)
    assert (refusal.status, refusal.revoked) == (401, True)
    with pytest.raises(NotYet, match=r"Zed was revoked in Blender\. Remove it from the list"):
        pairings.ask("Zed")
    store.forget(entry.id)
    assert isinstance(pairings.client_of(token), authenticator.Refusal)
    pairings.answer(code_of(pairings, "Zed"), True)
    assert pairings.ask("Zed") != token


def test_few_may_ask_at_once_and_one_that_went_away_makes_room(pairings: Pairings, clock: Clock) -> None:
    codes = {code_of(pairings, f"Program {number}") for number in range(MOST_ASKING)}
    assert len(codes) == MOST_ASKING
    with pytest.raises(NotYet, match="Other programs wait"):
        pairings.ask("One more")
    clock.now = LAPSE_S + 1
    assert pairings.waiting() == ()
    assert pairings.answer(min(codes), True) == ""
    code_of(pairings, "One more")


# --- over the port, from the shim to the list of clients ---


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bridge]:
    """A bridge that takes itself to have a window, in which the user can be asked."""
    monkeypatch.setattr(assembly, "has_window", lambda: True)
    monkeypatch.setenv("BLENDER_PORT", str(free_port()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = discovery.user_folder() / "clients.json"
    path.unlink(missing_ok=True)
    yield bridge.start()
    bridge.stop()
    path.unlink(missing_ok=True)
    state.refresh()


def ask(running: Bridge, path: str, token: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    try:
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_the_records_token_only_lets_a_program_ask(running: Bridge) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    status, answer = ask(running, "/mcp", running.token, hello)
    assert (status, answer["error"]["message"]) == (
        403,
        "A program without a token of its own has to ask first: POST /pair.",
    )
    status, answer = ask(running, "/pair", running.token, {"client": {"name": "claude-ai"}})
    assert status == 403
    assert "Claude Desktop is not connected yet" in answer["error"]["message"]
    _, other = bridge.token_store().mint("Cursor")
    for token in (other, "wrong"):
        assert ask(running, "/pair", token, {"client": {"name": "x"}})[0] == 403
    for body in ("no object", {"client": "no object"}):
        status, answer = ask(running, "/pair", running.token, body)
        assert status == 403
    assert "A program is not connected yet" in answer["error"]["message"]


def test_a_shim_without_a_token_comes_in_once_the_user_allows_it(running: Bridge, tmp_path: Path) -> None:
    shim = installed_folder() / "server" / "clients" / "stdio_shim.py"
    with ShimClient(shim, environ={"XDG_RUNTIME_DIR": str(tmp_path)}) as client:
        client.initialize()
        client.request(1, "tools/call", {"name": "calculate", "arguments": {"code": "a = 1"}})
        while (answer := client.next()).get("id") != 1:
            pass
        told = answer["result"]["content"][0]["text"]
        assert answer["result"]["isError"] is True
        assert "test is not connected yet" in told
        state.refresh()
        [(name, code)] = state.view.asking
        assert name == "test"
        assert f"the code {code}" in told
        assert bpy.ops.mcp_bridge.answer_pairing(code=code, allowed=True) == {"FINISHED"}
        assert state.view.asking == ()
        while client.next(10.0).get("method") != "notifications/tools/list_changed":
            pass  # it has come in by itself
        client.request(2, "tools/list")
        while (answer := client.next()).get("id") != 2:
            pass
        assert answer["result"]["tools"]
    threads.wait(5)
    [entry] = [one for one in bridge.token_store().entries() if one.name == "test"]
    assert entry.last_used
    with ShimClient(shim, environ={"XDG_RUNTIME_DIR": str(tmp_path)}) as client:
        client.initialize()
        client.request(1, "prompts/list")
        while (answer := client.next()).get("id") != 1:
            pass
        assert answer["result"]["prompts"]  # which only Blender has: nobody was asked again
