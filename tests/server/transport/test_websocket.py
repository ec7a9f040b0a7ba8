# SPDX-License-Identifier: GPL-3.0-or-later
"""One WebSocket: both eras and plain commands, and clients that misbehave."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.transport import outbox, websocket_protocol
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from support.bridges.live import TOKEN, Live, until
from support.bridges.protocol import handshake, notification, request, stateless
from support.clients.raw_client import RawClient

Json = dict[str, Any]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as running:
        yield running


def ask(opened: ClientConnection, message: object) -> Json:
    opened.send(message if isinstance(message, (str, bytes)) else json.dumps(message))
    found: Json = json.loads(opened.recv(10))
    return found


def _flood(opened: RawClient) -> None:
    for number in range(10_000):
        opened.send(json.dumps(call(number, "big", stateless, size=200_000)).encode())


def _read_on(opened: RawClient) -> None:
    while True:
        opened.receive()


def call(request_id: Any, name: str, make: Any = request, **arguments: Any) -> Json:
    found: Json = make(request_id, "tools/call", name=name, arguments=arguments)
    return found


def test_both_eras_and_plain_commands_on_one_connection(live: Live) -> None:
    with live.websocket() as opened:
        modern = ask(opened, call(1, "echo", stateless, text="a"))
        assert modern["result"]["resultType"] == "complete"
        assert ask(opened, {"type": "echo", "params": {"text": "b"}}) == {
            "status": "success",
            "result": {"text": "b"},
            "message": None,
        }
        ask(opened, handshake(2))
        assert "resultType" not in ask(opened, call(3, "echo", text="c"))["result"]
        assert ask(opened, call(4, "echo", stateless, text="d"))["result"]["resultType"] == "complete"
        assert ask(opened, {"type": "no"})["message"] == "Unknown tool: no"


@pytest.mark.parametrize(
    ("frame", "code", "says"),
    [
        ("{", -32700, "Parse error: not JSON"),
        ('{"a": NaN}', -32700, "NaN is not JSON"),
        ('{"a": 1, "a": 2}', -32700, "duplicate key 'a'"),
        ("[" * 1000 + "]" * 1000, -32700, "nested deeper"),
        ("[]", -32600, "batches are not part of MCP"),
        ("5", -32600, "must be a JSON object"),
        (b"{}", -32600, "Binary frames are not part of MCP"),
        ("", -32700, "not JSON"),
    ],
)
def test_an_invalid_message_is_reported_and_the_connection_stays_open(
    live: Live, frame: str | bytes, code: int, says: str
) -> None:
    with live.websocket() as opened:
        error = ask(opened, frame)["error"]
        assert (error["code"], says in error["message"]) == (code, True)
        assert ask(opened, request(1, "ping"))["result"] == {}


def test_invalid_utf_8_closes_the_connection_and_the_server_goes_on(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    with live.websocket() as opened:
        opened.socket.sendall(b"\x81\x82\0\0\0\0\xff\xff")
        with pytest.raises(ConnectionClosed) as closed:
            opened.recv(5)
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 1007
    said = [(record.getMessage(), record.exc_info) for record in caplog.records]
    assert said == [("a WebSocket is closed: the message is no UTF-8", None)], "a line, and no traceback"
    with live.websocket() as opened:
        assert ask(opened, request(1, "ping"))["result"] == {}


def test_messages_that_come_together_are_answered_in_order(live: Live) -> None:
    def frame(opcode: int, text: str) -> bytes:
        return struct.pack("!BB4x", 0x80 | opcode, 0x80 | len(text)) + text.encode()

    with live.websocket() as opened:
        first, second = (json.dumps(request(number, "ping")) for number in (1, 2))
        opened.socket.sendall(frame(1, first) + frame(2, "binary") + frame(1, second))
        assert [json.loads(opened.recv(5)).get("id") for _ in range(3)] == [1, None, 2]


def test_a_client_that_reads_slowly_gets_everything_in_order(live: Live) -> None:
    slow = RawClient(live.port, TOKEN)
    for number in range(40):
        slow.send(json.dumps(call(number, "big", stateless, size=300_000)).encode())
    assert [json.loads(slow.receive())["id"] for _ in range(40)] == list(range(40))
    slow.close()


def test_a_cancelled_call_is_stopped_and_nothing_follows(live: Live) -> None:
    cancelled = live.cancelled
    with live.websocket() as opened:
        ask(opened, handshake(0))
        begun = live.begun
        message = request(
            1, "tools/call", name="sleep", arguments={"seconds": 30}, _meta={"progressToken": 1}
        )
        opened.send(json.dumps(message))
        until(lambda: live.begun == begun + 1)
        opened.send(json.dumps(notification("notifications/cancelled", requestId=1)))
        until(lambda: live.cancelled == cancelled + 1)
        opened.send(json.dumps(request(2, "ping")))
        received = []
        while not received or received[-1].get("id") != 2:
            received.append(json.loads(opened.recv(5)))
        assert all(one["method"] == "notifications/progress" for one in received[:-1])
        with pytest.raises(TimeoutError):
            opened.recv(0.1)


def test_calls_run_beside_each_other(live: Live) -> None:
    with live.websocket() as opened:
        ask(opened, handshake(0))
        opened.send(json.dumps(call("slow", "sleep", seconds=0.3)))
        opened.send(json.dumps(call("quick", "echo", text="a")))
        assert [json.loads(opened.recv(5))["id"] for _ in range(2)] == ["quick", "slow"]


def test_plain_commands_answer_in_order(live: Live) -> None:
    with live.websocket() as opened:
        opened.send(json.dumps({"type": "sleep", "params": {"seconds": 0.2}}))
        opened.send(json.dumps({"type": "echo", "params": {"text": "a"}}))
        first, second = (json.loads(opened.recv(5)) for _ in range(2))
        assert first["result"][0]["text"] == "slept"
        assert second["result"] == {"text": "a"}


def test_too_many_calls_are_refused_one_by_one(tmp_path: Path) -> None:
    with Live(tmp_path, max_in_flight=3) as live, live.websocket() as opened:
        ask(opened, handshake(0))
        for number in range(10):
            opened.send(json.dumps(call(number, "sleep", seconds=0.3)))
        answers = [json.loads(opened.recv(5)) for _ in range(10)]
        busy = [one for one in answers if "error" in one]
        assert {one["error"]["code"] for one in busy} == {-31000}
        assert (len(busy), {one["id"] for one in answers}) == (7, set(range(10)))
        assert ask(opened, call("later", "echo", text="a"))["result"]["isError"] is False


def test_a_client_that_is_killed_in_mid_call(live: Live) -> None:
    begun, cancelled = live.begun, live.cancelled
    code = f"""
import json
from websockets.sync.client import connect
opened = connect({live.websocket_url!r}).__enter__()
opened.send(json.dumps({call(1, "sleep", stateless, seconds=60)!r}))
opened.recv()
"""
    libraries = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": libraries})
    until(lambda: live.begun == begun + 1, 20)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: live.cancelled == cancelled + 1)
    until(lambda: live.app.connections == 0)
    with live.websocket() as opened:
        assert ask(opened, request(1, "ping"))["result"] == {}


def test_a_half_frame_holds_nothing_up_and_ends_with_its_connection(live: Live) -> None:
    with live.websocket() as half:
        half.socket.sendall(b"\x81\xff" + struct.pack("!Q", 1 << 20) + b"\0\0\0\0" + b"x" * 1000)
        with live.websocket() as opened:
            assert ask(opened, request(1, "ping"))["result"] == {}
        half.socket.shutdown(socket.SHUT_RDWR)
    until(lambda: live.app.connections == 0)


def test_a_fragmented_message_is_one_message(live: Live) -> None:
    with live.websocket() as opened:
        text = json.dumps(call(1, "echo", stateless, text="x" * 10_000))
        opened.send(text[start : start + 100] for start in range(0, len(text), 100))
        assert len(json.loads(opened.recv(5))["result"]["structuredContent"]["text"]) == 10_000


def test_a_client_that_floods_and_does_not_read_is_dropped(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read from either, so that nothing is done for it meanwhile."""
    for module in (outbox, websocket_protocol):
        monkeypatch.setattr(module, "STALL_SECONDS", 1.0)
    flooding = RawClient(live.port, TOKEN)
    _flood(flooding)
    until(lambda: live.app.connections == 0)
    with pytest.raises(ConnectionResetError):
        _read_on(flooding)
    flooding.close()
    with live.websocket() as opened:
        assert ask(opened, request(1, "ping"))["result"] == {}


def test_connections_that_come_and_go_leave_nothing(live: Live) -> None:
    def come_and_go(times: int) -> None:
        for number in range(times):
            with live.websocket() as opened:
                ask(opened, handshake(0))
                ask(opened, call(1, "echo", text="a"))
                if number % 2:
                    opened.send(json.dumps(call(2, "sleep", seconds=30)))
                    opened.socket.shutdown(socket.SHUT_RDWR)

    come_and_go(20)
    until(lambda: live.app.connections == 0)
    until(lambda: live.begun == live.ended)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    come_and_go(60)
    until(lambda: live.app.connections == 0)
    until(lambda: live.begun == live.ended)
    gc.collect()
    after = tracemalloc.take_snapshot()
    tracemalloc.stop()
    grown = sum(
        one.size_diff
        for one in after.compare_to(before, "filename")
        if "mcp_bridge" in one.traceback[0].filename
    )
    assert grown < 20_000  # bytes, for 60 connections
    assert live.app.clients() == []


def test_news_from_any_thread_reach_subscribers(live: Live) -> None:
    with live.websocket() as opened:
        ask(opened, handshake(0))
        ask(opened, request(1, "resources/subscribe", uri="test://one"))
        thread = threading.Thread(target=live.core.features.resource_updated, args=("test://one",))
        thread.start()
        thread.join()
        assert json.loads(opened.recv(5))["params"] == {"uri": "test://one"}


def test_a_round_trip_is_quick(live: Live) -> None:
    with live.websocket() as opened:
        ask(opened, handshake(0))
        times = []
        for number in range(200):
            begin = time.perf_counter()
            ask(opened, call(number, "echo", text="a"))
            times.append(time.perf_counter() - begin)
        assert sorted(times)[100] < 0.05  # a bound for a hung-up loop, not a measure: that is make bench's
