# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and Stop as a user presses them, in this Blender."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.server import bridge

from support.running.ports import free_port, is_open


@pytest.fixture(autouse=True)
def own_port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    port = free_port()
    monkeypatch.setenv("BLENDER_PORT", str(port))
    yield port
    bridge.stop()
    state.refresh()


def test_start_listens_and_stop_ends_it(own_port: int) -> None:
    assert bpy.ops.mcp_bridge.start() == {"FINISHED"}
    assert state.view.address == f"127.0.0.1:{own_port}"
    assert is_open(own_port)
    assert bpy.ops.mcp_bridge.stop() == {"FINISHED"}
    assert state.view.address == ""
    assert not is_open(own_port)


def test_each_is_offered_only_when_it_makes_sense() -> None:
    assert bpy.ops.mcp_bridge.start.poll()
    assert not bpy.ops.mcp_bridge.stop.poll()
    bpy.ops.mcp_bridge.start()
    assert not bpy.ops.mcp_bridge.start.poll()
    assert bpy.ops.mcp_bridge.stop.poll()


def test_a_busy_port_is_reported_and_shown_until_a_start_succeeds(own_port: int) -> None:
    with socket.create_server(("127.0.0.1", own_port)):
        assert bpy.ops.mcp_bridge.start() == {"CANCELLED"}
        assert state.view.error.startswith(f"Port {own_port} on 127.0.0.1 is in use by another program")
        assert state.view.address == ""
    bpy.ops.mcp_bridge.start()
    assert state.view.error == ""


def test_a_wrong_setting_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_PORT", "99")
    assert bpy.ops.mcp_bridge.start() == {"CANCELLED"}
    assert "BLENDER_PORT is '99' in the environment" in state.view.error
