# SPDX-License-Identifier: GPL-3.0-or-later
"""Binding, serving and stopping."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.server.transport import http_protocol, listener
from bl_ext.user_default.mcp_bridge.server.transport.listener import PortBusy, bind

from support.bridges.live import TOKEN, Live, until
from support.bridges.protocol import request, stateless
from support.clients.raw_client import RawClient
from support.running.ports import is_open


def test_a_busy_port_is_known_before_anything_starts() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(PortBusy, match=rf"Port {port} on 127\.0\.0\.1 is in use by another program"):
            bind("127.0.0.1", port)
    bind("127.0.0.1", port).close()


def test_an_address_that_is_not_ours_is_named() -> None:
    with pytest.raises(BridgeError, match=r"Cannot listen on 203\.0\.113\.1:9000"):
        bind("203.0.113.1", 9000)


def test_ipv6() -> None:
    with bind("::1", 0) as listening:
        assert listening.family == socket.AF_INET6


def test_stopping_leaves_no_thread_and_no_port(tmp_path: Path) -> None:
    for _ in range(3):
        with Live(tmp_path) as live:
            assert live.threads() == ["MCP Bridge network"]
            assert live.listener.alive
        assert live.threads() == []
        assert not live.listener.alive
        assert not is_open(live.port)


def test_stopping_ends_what_is_open_and_is_quick(tmp_path: Path) -> None:
    with Live(tmp_path) as live, live.websocket() as opened:
        listen = stateless("s", "subscriptions/listen", notifications={"toolsListChanged": True})
        opened.send(json.dumps(listen))
        opened.recv()
        opened.send(json.dumps(stateless(1, "tools/call", name="sleep", arguments={"seconds": 60})))
        until(lambda: live.begun == 1)
        begin = time.monotonic()
        assert live.listener.stop(60.0)
        assert time.monotonic() - begin < 30  # and not the 60 s of the call
        assert (live.cancelled, live.ended) == (1, 1)
        ended = json.loads(opened.recv(5))
        assert (ended["id"], ended["result"]["resultType"]) == ("s", "complete")
    assert live.listener.stop()


def test_stopping_does_not_wait_for_a_client_that_does_not_read(tmp_path: Path) -> None:
    with Live(tmp_path) as live:
        lazy = RawClient(live.port, TOKEN)
        for number in range(50):
            call = stateless(number, "tools/call", name="big", arguments={"size": 300_000})
            lazy.send(json.dumps(call).encode())
        assert live.listener.stop(30.0)
        lazy.close()


def test_a_head_that_never_comes_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Live(tmp_path) as live:
        for sent in (b"", b"POST /mcp HT"):
            with monkeypatch.context() as patch:
                patch.setattr(http_protocol, "HEAD_SECONDS", 0.1)
                with socket.create_connection(("127.0.0.1", live.port), timeout=30) as idle:
                    idle.sendall(sent)
                    with pytest.raises(ConnectionResetError):
                        _read_to_the_end(idle)
        assert live.post(request(1, "ping"))[0] == 400  # it still serves


def test_idle_connections_are_bounded(tmp_path: Path) -> None:
    with Live(tmp_path, max_connections=2) as live:
        idle = [socket.create_connection(("127.0.0.1", live.port)) for _ in range(2 * listener.IDLE_FACTOR)]
        with (
            socket.create_connection(("127.0.0.1", live.port), timeout=30) as one_more,
            pytest.raises(ConnectionResetError),
        ):
            _read_to_the_end(one_more)
        for connection in idle:
            connection.close()
        until(lambda: live.request("GET", "/health")[0] == 200)


def test_a_response_that_nobody_reads_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "KEEP_ALIVE_SECONDS", 1.0)
    with Live(tmp_path) as live:
        call = stateless(1, "tools/call", name="big", arguments={"size": 30_000_000})
        body = json.dumps(call).encode()
        head = f"POST /mcp HTTP/1.1\nHost: 127.0.0.1:{live.port}\nAuthorization: Bearer {TOKEN}\n"
        head += "Content-Type: application/json\nMCP-Protocol-Version: 2026-07-28\n"
        head += f"Mcp-Method: tools/call\nMcp-Name: big\nContent-Length: {len(body)}\n"
        with live.raw(head, body) as lazy:
            until(lambda: live.app.connections == 1)
            until(lambda: live.app.connections == 0)
            time.sleep(1)
            with pytest.raises(ConnectionResetError):
                _read_to_the_end(lazy)


def test_garbage_is_answered_and_the_server_goes_on(tmp_path: Path) -> None:
    with Live(tmp_path) as live:
        with live.raw("\x00\x01 nonsense\n") as connection:
            assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")
        assert live.request("GET", "/health")[0] == 200


def test_the_server_ends_with_the_program() -> None:
    names = [thread.name for thread in threading.enumerate() if not thread.daemon]
    assert "MCP Bridge network" not in names


def _read_to_the_end(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass
    raise ConnectionResetError("it was closed")
