# SPDX-License-Identifier: GPL-3.0-or-later
"""One WebSocket connection on a real port: turns, control frames, closing, and what all connections share."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.server.transport import asgi, frames, websocket_protocol
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from support.bridges.live import TOKEN, Live, until
from support.bridges.protocol import request, stateless
from support.clients.floods import frame
from support.clients.raw_client import RawClient

MIB = 1 << 20


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with Live(tmp_path) as running:
        yield running
        until(lambda: running.app.connections == 0)
        assert running.app.held.taken == 0, "what was half received leaves nothing"


def _read_on(opened: ClientConnection) -> None:
    while True:
        opened.recv(20)


def _closed(opened: ClientConnection) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        _read_on(opened)
    assert closed.value.rcvd
    return closed.value.rcvd.code, closed.value.rcvd.reason


def test_ten_thousand_empty_frames_take_many_turns_and_others_are_served_between(live: Live) -> None:
    with live.websocket() as flooding, live.websocket() as honest:
        begin = live.listener.turns.given
        flooding.socket.sendall(frame(1, b'"', final=False) + frame(0, final=False) * 10_000)
        for number in range(5):
            honest.send(json.dumps(request(number, "ping")))
            assert json.loads(honest.recv(20))["id"] == number
        fewest = 10_000 // frames.FRAMES_AT_ONCE
        until(lambda: live.listener.turns.given - begin >= fewest - 2)
        flooding.socket.sendall(frame(0, b'"'))
        assert "must be a JSON object" in flooding.recv(20)


def test_of_many_pings_at_once_the_last_is_answered(live: Live) -> None:
    with live.websocket() as opened:
        heard: list[bytes] = []
        receive = opened.protocol.recv_frame

        def note(one: object) -> None:
            heard.append(bytes(one.data))  # type: ignore[attr-defined]
            receive(one)

        opened.protocol.recv_frame = note
        opened.socket.sendall(b"".join(frame(9, str(number).encode()) for number in range(60)))
        until(lambda: b"59" in heard)
        opened.send(json.dumps(request(1, "ping")))
        assert json.loads(opened.recv(20))["id"] == 1
        assert len(heard) < 30


def test_many_requests_at_once_are_answered_in_order_a_few_each_turn(live: Live) -> None:
    with live.websocket() as opened:
        begin = live.listener.turns.given
        sent = b"".join(frame(1, json.dumps(request(number, "ping")).encode()) for number in range(200))
        opened.socket.sendall(sent)
        assert [json.loads(opened.recv(20))["id"] for _ in range(200)] == list(range(200))
        assert live.listener.turns.given - begin >= 200 // frames.MESSAGES_AT_ONCE - 2


def test_half_messages_of_all_connections_have_a_bound_and_are_told_so(live: Live) -> None:
    """One and a half messages of the largest size; small ones come through all the while."""
    head = b"\x81\xff" + struct.pack("!Q", 60 * MIB) + b"\0\0\0\0"
    with live.websocket() as first, live.websocket() as second, live.websocket() as honest:
        first.socket.sendall(head + bytes(59 * MIB))
        until(lambda: live.app.held.taken > 58 * MIB)
        for part in (head, *[bytes(MIB)] * 36):
            second.socket.sendall(part)
        until(lambda: live.app.held.taken > 94 * MIB)
        honest.send(json.dumps(stateless(1, "tools/call", name="echo", arguments={"text": "x" * 60_000})))
        assert json.loads(honest.recv(20))["id"] == 1
        second.socket.sendall(bytes(2 * MIB))
        assert _closed(second) == (1013, "too much is half received by all clients together: try again later")
        until(lambda: live.app.held.taken < 60 * MIB)
        body = b" " * (40 * MIB)
        status, headers, answer = live.post(body)
        assert (status, headers["retry-after"]) == (503, "1")
        assert "too much is half received by all clients together" in answer
        first.socket.sendall(bytes(MIB))
        assert "not JSON" in first.recv(20)
        assert live.post(body)[0] == 400  # a parse error: there is room again


def test_a_client_that_does_not_read_its_only_answer_is_dropped(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else waits for it, whose time could run out."""
    monkeypatch.setattr(websocket_protocol, "STALL_SECONDS", 0.5)
    silent = RawClient(live.port, TOKEN)
    silent.send(json.dumps(stateless(1, "tools/call", name="big", arguments={"size": 20 * MIB})).encode())
    until(lambda: live.app.connections == 0)
    silent.close()


def test_a_message_that_is_too_large_is_refused_before_it_has_come(live: Live) -> None:
    with live.websocket() as opened:
        opened.socket.sendall(b"\x81\xff" + struct.pack("!Q", 65 * MIB) + b"\0\0\0\0")
        assert _closed(opened) == (1009, f"the message is larger than {64 * MIB} bytes")


def test_a_client_that_goes_on_sending_still_hears_why_it_is_closed(live: Live) -> None:
    with live.websocket() as opened:
        opened.socket.sendall(b"\x83\x80\0\0\0\0" + bytes(2 * MIB))
        assert _closed(opened) == (1002, "there is no opcode 3")


def test_a_client_that_never_closes_its_side_is_hung_up_on(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_protocol, "CLOSE_SECONDS", 0.2)
    with live.raw(
        f"GET /mcp?token=token-of-alice-0123456789 HTTP/1.1\nHost: 127.0.0.1:{live.port}\nUpgrade: websocket\n"
        "Connection: Upgrade\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\nSec-WebSocket-Version: 13\n"
    ) as silent:
        until(lambda: live.app.connections == 1)
        silent.sendall(b"\x83\x80\0\0\0\0")
        until(lambda: not live.listener._server.server_state.connections)


def test_a_large_message_has_to_arrive_in_time(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_protocol, "MESSAGE_SECONDS", 0.5)
    with live.websocket() as opened, live.websocket() as small:
        opened.socket.sendall(b"\x81\xff" + struct.pack("!Q", MIB) + b"\0\0\0\0" + bytes(MIB // 2))
        small.socket.sendall(b"\x81\xff" + struct.pack("!Q", MIB) + b"\0\0\0\0" + bytes(10))
        assert _closed(opened)[0] == 1008
        small.socket.sendall(bytes(MIB - 10))
        assert "not JSON" in small.recv(20)


def test_one_that_was_answered_in_time_has_its_whole_time_for_the_next(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_protocol, "MESSAGE_SECONDS", 3.0)
    half, head = bytes(MIB // 2), b"\x81\xff" + struct.pack("!Q", MIB) + b"\0\0\0\0"
    with live.websocket() as opened:
        opened.socket.sendall(head + half)
        begin = time.monotonic()
        while time.monotonic() - begin < 4.0:  # longer than one message may take
            opened.socket.sendall(half + head + half)
            assert "not JSON" in opened.recv(20)
            time.sleep(0.2)


def test_the_connection_with_most_unread_answers_goes_when_all_have_too_many(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.app.unread, "most", 20 * MIB)
    assert asgi.MAX_UNREAD_BYTES == 96 * MIB

    def ask(opened: ClientConnection, size: int) -> None:
        opened.send(json.dumps(stateless(1, "tools/call", name="big", arguments={"size": size})))

    slow = {"max_queue": 1}
    with live.websocket(**slow) as less, live.websocket(**slow) as most, live.websocket() as honest:
        ask(less, 13 * MIB)
        until(lambda: sum(one.unread for one in live.app.unread._of) > 1 * MIB)
        ask(most, 40 * MIB)
        until(lambda: live.app.connections == 2)
        ask(honest, 1000)
        assert len(honest.recv(20)) > 1000
        assert len(less.recv(20)) > 13 * MIB
        with pytest.raises(ConnectionClosed):
            most.recv(20)
