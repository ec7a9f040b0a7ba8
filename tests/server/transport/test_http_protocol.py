# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP connections in turn: bodies in many pieces, and requests one behind the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.server.transport import http_messages

from support.bridges.live import OTHER, TOKEN, Live, until
from support.bridges.protocol import request

MIB = 1 << 20


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with Live(tmp_path) as running:
        yield running
        until(lambda: running.app.connections == 0)
        assert running.app.held.taken == 0, "what was half received leaves nothing"


def _head(live: Live, more: str, token: str = TOKEN) -> str:
    return (
        f"POST /mcp HTTP/1.1\nHost: 127.0.0.1:{live.port}\nAuthorization: Bearer {token}\n"
        f"Content-Type: application/json\n{more}\n"
    )


def test_a_body_in_tiny_chunks_takes_many_turns(live: Live) -> None:
    begin = live.listener.turns.given
    with live.raw(_head(live, "Transfer-Encoding: chunked"), b"1\r\n \r\n" * 20_000) as flooding:
        assert json.loads(live.request("GET", "/health")[2])["status"] == "ok"
        flooding.sendall(b"0\r\n\r\n")
        assert flooding.recv(4096).startswith(b"HTTP/1.1 400 ")  # blanks are not JSON
    assert live.listener.turns.given - begin >= 4  # 120,000 bytes at 64 KiB at most, and the first ones less


def test_a_large_body_comes_through_whole(live: Live) -> None:
    text = "x" * (8 * MIB)
    status, _, body = live.post(
        {**request(1, "initialize"), "params": {"protocolVersion": "2025-11-25", "pad": text}}
    )
    assert (status, json.loads(body)["result"]["protocolVersion"]) == (200, "2025-11-25")


def test_requests_one_behind_the_other_are_answered_in_order_one_each_turn(live: Live) -> None:
    begin = live.listener.turns.given
    asked = f"GET /health?{{}} HTTP/1.1\nHost: 127.0.0.1:{live.port}\n\n".replace("\n", "\r\n")
    sent = b"".join(asked.format(number).encode() for number in range(100))
    got = b""
    with live.raw("GET /none HTTP/1.1\n" + f"Host: 127.0.0.1:{live.port}\n", sent) as connection:
        while got.count(b"HTTP/1.1 ") < 101 or not got.endswith(b"}"):
            got += connection.recv(65536)
    statuses = re.findall(rb"HTTP/1.1 (\d+)", got)
    assert statuses == [b"404"] + [b"200"] * 100
    assert live.listener.turns.given - begin >= 90


def test_slow_bodies_of_one_client_leave_places_for_others(tmp_path: Path) -> None:
    with Live(tmp_path, max_connections=8) as live:
        slow = [live.raw(_head(live, "Content-Length: 100"), b" ") for _ in range(8)]
        until(lambda: live.app.connections == 4)
        for number in range(5):
            assert live.post(request(number, "ping"), token=OTHER)[0] == 400  # let in: it has no session
        assert live.post(request(1, "ping"))[0] == 503
        for connection in slow:
            connection.close()
        until(lambda: live.app.connections == 0)


@pytest.mark.parametrize("limit", ["BODY_SECONDS", "BODY_STALL_SECONDS"])
def test_a_body_has_to_arrive_in_time(live: Live, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(http_messages, limit, 0.3)
    with live.raw(_head(live, "Content-Length: 100"), b" ") as slow:
        answer = slow.recv(4096)
        assert answer.startswith(b"HTTP/1.1 408 ")
        while more := slow.recv(4096):
            answer += more
        assert b"The body did not arrive" in answer
