# SPDX-License-Identifier: GPL-3.0-or-later
"""A client that may come in no more loses what it has open, whichever Blender shut it out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import SettingsError
from bl_ext.user_default.mcp_bridge.server.clients.token_store import TokenStore
from bl_ext.user_default.mcp_bridge.server.clients.watch import watch
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from support.bridges.live import Live, until
from support.bridges.protocol import handshake, request, stateless
from support.bridges.serving import TOKEN as SERVED_TOKEN
from support.bridges.serving import serving
from support.clients.raw_client import RawClient
from support.running import blender

_REVOKE = """
from bl_ext.user_default.mcp_bridge.server import bridge
assert bridge.token_store().revoke({client!r})
import time
print(time.time())
"""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with Live(tmp_path) as running:
        yield running


def _connect(live: Live, token: str) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{live.port}/mcp?token={token}", proxy=None)


def _read_on(receive: Callable[[], object]) -> None:
    while True:
        receive()


def _revoked(store: TokenStore, client: str) -> None:
    assert store.revoke(client)


def _replaced(store: TokenStore, client: str) -> None:
    store.mint("Another", replaces=client)


def _lost(store: TokenStore, client: str) -> None:
    store.path.unlink()


def _damaged(store: TokenStore, client: str) -> None:
    store.path.write_text("{")


@pytest.mark.parametrize("shut_out", [_revoked, _replaced, _lost, _damaged])
def test_everything_open_ends_however_the_record_lost_the_client(
    live: Live, tmp_path: Path, shut_out: Callable[[TokenStore, str], None]
) -> None:
    store = TokenStore(tmp_path / "clients.json")
    entry, token = store.mint("Cursor")
    sleep = {"name": "sleep", "arguments": {"seconds": 60}}
    with _connect(live, token) as idle, _connect(live, token) as working, live.websocket() as other:
        working.send(json.dumps(stateless(1, "tools/call", **sleep)))
        working.send(json.dumps(stateless(2, "tools/call", name="job", arguments={"seconds": 60, "wait": 0})))
        body = json.dumps(handshake(0)).encode()
        status, headers, _ = live.post(body, token=token)
        assert status == 200
        session = {"Mcp_Session_Id": headers["mcp-session-id"], "MCP_Protocol_Version": "2025-11-25"}
        fields = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in session.items())
        stream = live.raw(
            f"GET /mcp HTTP/1.1\nHost: 127.0.0.1:{live.port}\nAuthorization: Bearer {token}\n"
            f"Accept: text/event-stream\n{fields}"
        )
        call = json.dumps(request(7, "tools/call", **sleep))
        posted = live.raw(
            f"POST /mcp HTTP/1.1\nHost: 127.0.0.1:{live.port}\nAuthorization: Bearer {token}\n{fields}"
            f"Accept: application/json, text/event-stream\nContent-Type: application/json\n"
            f"Content-Length: {len(call)}\n",
            call.encode(),
        )
        until(lambda: live.begun == 2 and len(live.core.jobs.list(entry.id)) == 1)
        assert live.app.connections == 5
        shut_out(store, entry.id)
        until(lambda: live.app.connections == 1)  # the other client's
        until(lambda: live.cancelled == 2 and live.app._dispatcher.in_flight == 0)
        assert [job.state for job in live.core.jobs.list(entry.id)] == ["cancelled"]
        for one in (idle, working):
            with pytest.raises(ConnectionClosed):
                _read_on(partial(one.recv, 10))
        for raw in (stream, posted):
            with raw, contextlib.suppress(ConnectionResetError):
                while raw.recv(65536):
                    pass
        status, _, answer = live.post(request(9, "ping"), token=token, **session)
        assert status >= 400 or "was revoked" in answer
        other.send(json.dumps(stateless(1, "tools/call", name="echo", arguments={"text": "a"})))
        assert json.loads(other.recv(10))["result"]["isError"] is False
    assert {connection.peer.client.id for connection in live.app._dispatcher.connections} <= {"alice"}


def test_a_client_is_told_of_once_and_one_that_never_came_is_not(tmp_path: Path) -> None:
    with Live(tmp_path) as live:
        store = TokenStore(tmp_path / "clients.json")
        authenticator = live.app._authenticator
        (came, token), (stayed_away, _) = store.mint("Cursor"), store.mint("Zed")
        with _connect(live, token):
            pass
        assert authenticator.shut_out() == frozenset()
        store.revoke(came.id)
        store.revoke(stayed_away.id)
        until(lambda: not authenticator.came_in)
        assert authenticator.shut_out() == frozenset()


class _Unreadable:
    came_in = frozenset({"a"})

    def __init__(self, answers: list[frozenset[str] | Exception]) -> None:
        self.answers = answers

    def shut_out(self) -> frozenset[str]:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


_NO = SettingsError("cannot be used")


@pytest.mark.parametrize(
    ("answers", "disconnected", "shut_out"),
    [
        ([frozenset(), frozenset()], [], []),
        ([frozenset(), frozenset({"a"})], [], ["a"]),
        ([_NO, frozenset(), _NO, frozenset()], [], []),
        ([_NO, _NO], ["a"], []),
        ([_NO, _NO, _NO, frozenset({"a"})], ["a", "a"], ["a"]),
        ([ValueError("a fault of ours"), frozenset({"a"})], [], ["a"]),
    ],
)
def test_clients_are_disconnected_while_the_list_cannot_be_read_and_shut_out_when_revoked(
    answers: list[frozenset[str] | Exception], disconnected: list[str], shut_out: list[str]
) -> None:
    found: dict[str, list[str]] = {"disconnected": [], "shut out": []}
    authenticator = _Unreadable(list(answers))

    async def look() -> None:
        looking = asyncio.create_task(
            watch(authenticator, found["shut out"].append, found["disconnected"].append, every=0.0)
        )
        while authenticator.answers:
            await asyncio.sleep(0)
        looking.cancel()

    asyncio.run(look())
    assert found == {"disconnected": disconnected, "shut out": shut_out}


def test_another_blender_revokes_and_a_script_under_way_ends(tmp_path: Path) -> None:
    """Two Blenders of one user, both without a window; the script's own time limit is far away."""
    with serving(tmp_path, BLENDER_MCP_REHEARSE="never", BLENDER_MCP_TIME_LIMIT="300") as served:
        entry, token = TokenStore(tmp_path / "blender" / "mcp_bridge" / "clients.json").mint("Cursor")
        idle, working, honest = (RawClient(served.port, each) for each in (token, token, SERVED_TOKEN))
        script = {"name": "execute_blender_code", "arguments": {"code": "while True:\n    pass"}}
        call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": script}
        working.send(json.dumps(call).encode())
        until(
            lambda: any(
                "while True" in each.read_text() for each in tmp_path.rglob("blender_mcp_execute.log")
            )
        )
        revoked = float(blender.run(_REVOKE.format(client=entry.id), served.env).split()[-1])
        for client in (idle, working):
            with pytest.raises(ConnectionError):
                _read_on(client.receive)
        assert honest.call("get_scene_info")["isError"] is False  # so Blender's main thread is free again
        assert time.time() - revoked < 60  # and not the 300 s of the script; a second on a quiet machine
        with pytest.raises(ConnectionError, match="401"):
            RawClient(served.port, token)
        honest.close()
