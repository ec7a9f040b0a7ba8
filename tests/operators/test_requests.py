# SPDX-License-Identifier: GPL-3.0-or-later
"""What the buttons of a request do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import journal
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.operators.requests import ROWS
from bl_ext.user_default.mcp_bridge.sandbox import review
from bl_ext.user_default.mcp_bridge.sandbox.review.desk import Desk
from bl_ext.user_default.mcp_bridge.sandbox.review.request import Entry, InjectScriptRequest, Tool
from bl_ext.user_default.mcp_bridge.sandbox.review.store import Store


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))
    review.close()
    yield review.open_desk(Store(tmp_path / "requests", lambda pid: False))
    review.close()
    state.refresh()


def waiting(desk: Desk, tool: Tool = "inject_bpy_script") -> Entry:
    desk.submit(InjectScriptRequest("r1", "Cursor", "contextual", "x = 1", 0.0, "c1", tool), asks="panel")
    desk.extracted("r1", "x = 1")
    desk.validated("r1", {})
    desk.rehearsed("r1", {}, "", 7)
    entry = desk.ask("r1", revision=7)
    state.refresh()
    return entry


def test_what_waits_is_listed_and_counted(desk: Desk) -> None:
    waiting(desk)
    assert state.view.waiting == 1
    assert [row.name for row in getattr(bpy.context.window_manager, ROWS)] == ["r1"]
    desk.deny("r1")
    state.refresh()
    assert (state.view.waiting, len(getattr(bpy.context.window_manager, ROWS))) == (0, 0)


def test_applying_agrees_to_what_was_shown(desk: Desk) -> None:
    entry = waiting(desk)
    bpy.ops.mcp_bridge.review_request(request_id="r1", sha256=entry.sha256, revision=7)
    assert desk.get("r1").state == "confirmed"


def test_applying_what_was_not_shown_does_nothing(desk: Desk) -> None:
    waiting(desk)
    assert bpy.ops.mcp_bridge.review_request(request_id="r1") == {"CANCELLED"}
    assert desk.get("r1").state == "waiting"


def test_trust_is_for_execute_alone_and_can_be_taken_back(desk: Desk) -> None:
    entry = waiting(desk)
    shown = {"request_id": "r1", "sha256": entry.sha256, "revision": 7, "trust": True}
    bpy.ops.mcp_bridge.review_request(**shown)
    assert not desk.trusted
    desk.cancel("r1")
    desk.trust("c1", "Cursor")
    state.refresh()
    assert state.view.trusted == (("c1", "Cursor"),)
    bpy.ops.mcp_bridge.ask_again(client_id="c1")
    assert not desk.trusted


def test_denying_gives_the_reason(desk: Desk) -> None:
    waiting(desk)
    bpy.ops.mcp_bridge.deny_request(request_id="r1", reason=" too many ")
    assert (desk.get("r1").state, desk.get("r1").reason) == ("denied", "too many")
