# SPDX-License-Identifier: GPL-3.0-or-later
"""What is gathered for the panels."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals.request import Asks, InjectScriptRequest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pools
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.clients import discovery

from support.running.ports import free_port


@pytest.fixture(autouse=True)
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    port = free_port()
    monkeypatch.setenv("BLENDER_PORT", str(port))
    (discovery.user_folder() / "clients.json").unlink(missing_ok=True)
    yield port
    bridge.stop()
    (discovery.user_folder() / "clients.json").unlink(missing_ok=True)
    monkeypatch.undo()
    state.refresh()


def test_a_change_makes_a_new_view_and_no_change_none() -> None:
    state.refresh()
    before = state.view
    state.refresh()
    assert state.view is before
    state.store().mint("Cursor")
    state.refresh()
    assert state.view is not before
    assert [entry.name for entry in state.view.clients] == ["Cursor"]
    assert before.clients == ()


def test_the_welcome_ends_for_all_blenders_of_this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other versions of the extension look for the same file."""
    marker = discovery.user_folder() / "welcomed"
    marker.unlink(missing_ok=True)
    monkeypatch.setattr(state, "_new", None)
    state.refresh()
    assert state.view.new
    state.end_welcome()
    assert marker.exists()
    monkeypatch.setattr(state, "_new", None)  # as in the next Blender
    state.refresh()
    assert not state.view.new
    marker.unlink()


def test_a_bridge_that_others_started_is_seen(port: int) -> None:
    bridge.start()
    state.refresh()
    assert (state.view.address, state.view.port, state.view.open_to_network) == (
        f"127.0.0.1:{port}",
        port,
        False,
    )
    assert state.here().port == port


def test_listening_on_all_addresses_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_HOST", "0.0.0.0")
    bridge.start()
    state.refresh()
    assert state.view.open_to_network
    assert state.here().host == "127.0.0.1"


def test_a_wrong_setting_is_an_error_in_the_panel_not_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_PORT", "99")
    state.refresh()
    assert "BLENDER_PORT is '99' in the environment" in state.view.error


def test_why_the_last_rehearsal_was_not_held_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "last_failure", lambda: "The last rehearsal could not be held.")
    state.refresh()
    assert state.view.rehearsal_failure == "The last rehearsal could not be held."


def test_the_timer_goes_on_after_an_error(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def broken() -> None:
        raise RuntimeError("something unforeseen")

    monkeypatch.setattr(state, "refresh", broken)
    assert state._tick() == 1.0
    assert "something unforeseen" in caplog.text


def test_gathering_goes_on_while_the_extension_is_enabled() -> None:
    assert bpy.app.timers.is_registered(state._tick)
    state.unregister()
    assert not bpy.app.timers.is_registered(state._tick)
    state.register()
    assert bpy.app.timers.is_registered(state._tick)


@pytest.mark.parametrize("asks", ["panel", "client"])
def test_what_the_user_is_asked_is_shown_without_waiting_for_the_next_look(asks: Asks, port: int) -> None:
    bridge.start()
    queue = approvals.current()
    assert queue is not None
    asked = InjectScriptRequest("r1", "Cursor", "contextual", "x = 1", 0.0, "c1", "inject_bpy_script")
    thread = threading.Thread(target=lambda: queue.submit(asked, asks=asks))
    thread.start()
    thread.join()
    before = state.view
    main_thread.pump(lambda: state.view is before)
    assert [entry.id for entry in state.view.open] == ["r1"]
    queue.cancel("r1")
    main_thread.pump(lambda: bool(state.view.open))
    assert state.view.open == ()
