# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole server in this Blender, asked over real sockets."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread, settings
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.base.process import threads
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.assembly import Bridge
from bl_ext.user_default.mcp_bridge.server.clients import discovery

from support.running.ports import free_port


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    yield
    bridge.stop()


def _ask(port: int, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    """An HTTP request from another thread, while this one does Blender's work."""
    answer: list[tuple[int, str]] = []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer.append((response.status, response.read().decode()))
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    main_thread.pump(thread.is_alive)
    thread.join()
    return answer[0]


def _call(running: Bridge, tool: str, **arguments: Any) -> dict[str, Any]:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    body["params"]["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    status, text = _ask(
        running.port,
        "POST",
        "/mcp",
        body,
        **{
            "Authorization": f"Bearer {running.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        },
    )
    assert status == 200, text
    line = next((part[5:] for part in text.splitlines() if part.startswith("data:") and "{" in part), text)
    return json.loads(line)["result"]


@pytest.mark.usefixtures("empty_scene")
def test_a_tool_call_reaches_blender_and_its_answer_comes_back() -> None:
    running = bridge.start(settings.load(environ={}))
    bpy.ops.mesh.primitive_cube_add()
    result = _call(running, "get_object_info", name="Cube")
    assert result["structuredContent"]["mesh"]["vertices"] == 8
    result = _call(running, "get_object_info", name="Cub")
    assert result["isError"] is True
    assert (
        result["structuredContent"]["message"]
        == "There is no object 'Cub' in this file. Did you mean 'Cube'?"
    )
    result = _call(running, "get_object_info", nam="Cube")
    assert result["isError"] is True
    assert "nam" in result["content"][0]["text"]
    status, text = _ask(running.port, "GET", "/metrics", Authorization=f"Bearer {running.token}")
    assert status == 200
    assert 'mcp_bridge_tool_calls_total{outcome="success",tool="get_object_info"} 1.0' in text


def test_health_says_who_we_are_and_nothing_private() -> None:
    running = bridge.start(settings.load(environ={}))
    status, text = _ask(running.port, "GET", "/health")
    assert status == 200
    health = json.loads(text)
    assert health.pop("instance_id") == running.instance_id
    assert health.pop("version")
    assert health.pop("processes")["running"] == 0
    assert health == {"status": "ok", "product": "mcp_bridge"}


def test_its_thread_pauses_when_asked_to_and_answers_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_LONGEST_STEP_S", 30.0)
    running = bridge.start(settings.load(environ={}))
    with contextlib.closing(socket.create_connection(("127.0.0.1", running.port), timeout=30)) as connection:
        with threads.paused():
            connection.sendall(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode())
            connection.settimeout(0.3)
            with pytest.raises(TimeoutError):
                connection.recv(1)
        connection.settimeout(30)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_metrics_need_a_token() -> None:
    running = bridge.start(settings.load(environ={}))
    assert _ask(running.port, "GET", "/metrics")[0] == 401


def test_the_record_is_there_while_it_runs_and_gone_afterwards() -> None:
    running = bridge.start(settings.load(environ={}))
    [record] = [found for found in discovery.instances() if found.instance_id == running.instance_id]
    assert (record.port, record.token, record.blender_version) == (
        running.port,
        running.token,
        bpy.app.version_string,
    )
    bridge.stop()
    assert not [found for found in discovery.instances() if found.instance_id == running.instance_id]


def test_starting_stopping_and_starting_again_leaves_nothing() -> None:
    before = set(threading.enumerate())
    handlers = {
        name: len(getattr(bpy.app.handlers, name)) for name in ("load_post", "save_post", "undo_post")
    }
    chosen = settings.load(environ={"BLENDER_PORT": str(free_port())})
    for _ in range(3):
        running = bridge.start(chosen)
        assert bridge.start(chosen) is running
        assert bridge.status().state == "running"
        bridge.stop()
        assert bridge.status() == bridge.Status("stopped")
    assert set(threading.enumerate()) <= before
    assert {name: len(getattr(bpy.app.handlers, name)) for name in handlers} == handlers
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # connections of before may still be waiting
        probe.bind(("127.0.0.1", running.port))
        probe.listen()


def test_a_busy_default_port_moves_on_but_one_asked_for_fails_clearly() -> None:
    with socket.socket() as other:
        port = free_port()
        other.bind(("127.0.0.1", port))
        other.listen()
        asked = settings.load(environ={"BLENDER_PORT": str(port)})
        with pytest.raises(BridgeError) as caught:
            bridge.start(asked)
        assert str(caught.value) == (
            f"Port {port} on 127.0.0.1 is in use by another program, and the environment asks for exactly this one. "
            "Stop that program or choose another port."
        )
        assert bridge.status() == bridge.Status("failed", error=str(caught.value))
        assert bridge.current() is None
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", settings.DEFAULT_PORT))
            other.listen()
        except OSError:
            pass  # somebody else keeps it busy, which does as well
        assert bridge.start(settings.load(environ={})).port > settings.DEFAULT_PORT
