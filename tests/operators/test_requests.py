# SPDX-License-Identifier: GPL-3.0-or-later
"""What the buttons of a request do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals.approval_queue import ApprovalQueue
from bl_ext.user_default.mcp_bridge.approvals.request import Entry, InjectScriptRequest, Tool
from bl_ext.user_default.mcp_bridge.approvals.store import Store
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.operators import request_lists, state
from bl_ext.user_default.mcp_bridge.operators import requests as operators_requests
from bl_ext.user_default.mcp_bridge.operators.dialogs import dialog_size
from bl_ext.user_default.mcp_bridge.operators.request_lists import ROWS
from bl_ext.user_default.mcp_bridge.panels import requests, review
from bl_ext.user_default.mcp_bridge.sandbox.run import undo
from bl_ext.user_default.mcp_bridge.scene import events

from support.on_screen.layout import draw, layout


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApprovalQueue]:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))
    approvals.close()
    yield approvals.open_queue(Store(tmp_path / "requests", lambda pid: False))
    approvals.close()
    state.refresh()


def waiting(queue: ApprovalQueue, tool: Tool = "inject_bpy_script") -> Entry:
    queue.submit(InjectScriptRequest("r1", "Cursor", "contextual", "x = 1", 0.0, "c1", tool), asks="panel")
    queue.store_script("r1", "x = 1")
    queue.store_validation("r1", {})
    queue.store_rehearsal("r1", {}, "", 7)
    entry = queue.ask("r1", revision=7)
    state.refresh()
    return entry


def test_waiting_requests_are_listed_and_counted(queue: ApprovalQueue) -> None:
    waiting(queue)
    assert state.view.waiting == 1
    assert [row.name for row in getattr(bpy.context.window_manager, ROWS)] == ["r1"]
    queue.deny("r1")
    state.refresh()
    assert (state.view.waiting, len(getattr(bpy.context.window_manager, ROWS))) == (0, 0)


def test_applying_agrees_to_what_was_shown(queue: ApprovalQueue) -> None:
    entry = waiting(queue)
    bpy.ops.mcp_bridge.review_request(request_id="r1", sha256=entry.sha256, revision=7)
    assert queue.get("r1").state == "confirmed"


def test_applying_what_was_not_shown_does_nothing(queue: ApprovalQueue) -> None:
    waiting(queue)
    assert bpy.ops.mcp_bridge.review_request(request_id="r1") == {"CANCELLED"}
    assert queue.get("r1").state == "waiting"


def test_trust_is_for_execute_alone_and_can_be_taken_back(queue: ApprovalQueue) -> None:
    entry = waiting(queue)
    shown = {"request_id": "r1", "sha256": entry.sha256, "revision": 7, "trust": True}
    bpy.ops.mcp_bridge.review_request(**shown)
    assert not queue.trusted
    queue.cancel("r1")
    queue.trust("c1", "Cursor")
    state.refresh()
    assert state.view.trusted == (("c1", "Cursor"),)
    bpy.ops.mcp_bridge.ask_again(client_id="c1")
    assert not queue.trusted


def test_denying_gives_the_reason(queue: ApprovalQueue) -> None:
    waiting(queue)
    bpy.ops.mcp_bridge.deny_request(request_id="r1", reason=" too many ")
    assert (queue.get("r1").state, queue.get("r1").reason) == ("denied", "too many")


def applied(queue: ApprovalQueue, name: str = "r1", revision: int | None = None) -> Entry:
    entry = waiting(queue)
    queue.confirm(name, sha256=entry.sha256, revision=7, by="the user in the panel")
    queue.take(name, revision=7)
    return queue.store_result(name, {}, revision=revision)


def test_the_last_run_is_undone_and_an_earlier_state_is_not_lost(
    queue: ApprovalQueue, empty_scene: None
) -> None:
    events.register()
    step = undo.UndoStep("Add a cube", "r1")
    step.begin()
    bpy.ops.mesh.primitive_cube_add()
    step.commit()
    applied(queue, revision=events.settled())
    state.refresh()
    assert state.view.undoable == "r1"
    assert bpy.ops.mcp_bridge.undo_request(request_id="r1") == {"FINISHED"}
    assert (list(bpy.data.objects), queue.get("r1").undone, state.view.undoable) == ([], True, "")
    assert "request_undone" in journal.current().path.read_text(encoding="utf-8")
    assert bpy.ops.mcp_bridge.undo_request(request_id="r1") == {"CANCELLED"}
    events.unregister()


def test_once_the_scene_has_changed_a_run_is_not_undone_alone(
    queue: ApprovalQueue, empty_scene: None
) -> None:
    events.register()
    applied(queue, revision=events.settled())
    bpy.ops.mesh.primitive_cube_add()
    state.refresh()
    assert bpy.ops.mcp_bridge.undo_request(request_id="r1") == {"CANCELLED"}
    assert [item.name for item in bpy.data.objects] == ["Cube"]
    assert not queue.get("r1").undone
    events.unregister()


def test_an_alert_is_shown_until_it_is_noted_and_the_journal_keeps_it(queue: ApprovalQueue) -> None:
    queue.submit(
        InjectScriptRequest("r2", "Cursor", "contextual", "import os", 0.0, "c1", title="A chair"),
        asks="panel",
    )
    queue.store_script("r2", "import os")
    state.refresh()
    drawn = draw(requests.MCP_BRIDGE_PT_requests)
    assert "“A chair” of Cursor tries to use os, outside of Blender." in drawn.text
    bpy.ops.mcp_bridge.note_alert(request_id="r2")
    assert not state.view.alerts
    [line] = [line for line in journal.current().path.read_text("utf-8").splitlines() if '"alert"' in line]
    assert json.loads(line)["message"] == "the script tries to use os, outside of Blender"


def test_an_attempt_to_break_out_is_a_red_alert_of_its_own(queue: ApprovalQueue) -> None:
    """Noting what a script tries to reach does not note that it broke out."""
    queue.submit(
        InjectScriptRequest("r2", "Cursor", "contextual", "import os", 0.0, "c1", title="A chair"),
        asks="panel",
    )
    queue.store_script("r2", "import os")
    state.refresh()
    bpy.ops.mcp_bridge.note_alert(request_id="r2")
    reason = "attempt to break out of the sandbox: the script tried to open a file (audit event open), and was stopped"
    report = {
        "message": f"The rehearsal stopped: {reason}",
        "error": {"type": "PolicyError", "cause": "Breakout"},
    }
    queue.store_validation("r2", {})
    queue.store_failed_rehearsal("r2", report)
    state.refresh()
    drawn = draw(requests.MCP_BRIDGE_PT_requests)
    assert "Attempt to break out" in drawn.text
    assert f"“A chair” of Cursor was stopped. The rehearsal stopped: {reason}" in drawn.text
    bpy.ops.mcp_bridge.note_alert(request_id="r2")
    assert not state.view.alerts
    alerts = [
        line for line in journal.current().path.read_text("utf-8").splitlines() if '"event":"alert"' in line
    ]
    assert json.loads(alerts[-1])["message"].endswith(reason)


def test_a_line_that_the_rehearsal_never_came_to_is_marked(queue: ApprovalQueue) -> None:
    queue.submit(
        InjectScriptRequest("r1", "Cursor", "contextual", "x = 1", 0.0, "c1", "inject_bpy_script"),
        asks="panel",
    )
    queue.store_script("r1", "if a:\n    b = 1")
    queue.store_validation("r1", {})
    queue.store_rehearsal("r1", {"unreached": [2]}, "", 7)
    entry = queue.ask("r1", revision=7)
    request_lists.show(entry, dialog_size.in_window(1280, 800, 1.0))
    rows = getattr(bpy.context.window_manager, request_lists.LINES)
    assert [(row.name.strip(), row.mark) for row in rows] == [("if a:", ""), ("b = 1", "unreached")]
    assert [said for _, said in request_lists.explained_marks(entry)] == [
        "Never reached in the rehearsal: line 2"
    ]


def test_what_blender_closed_on_is_told_after_the_next_start_until_it_is_noted(
    queue: ApprovalQueue, tmp_path: Path
) -> None:
    waiting(queue)
    approvals.close()
    approvals.open_queue(Store(tmp_path / "requests", lambda pid: False))
    state.refresh()
    drawn = draw(requests.MCP_BRIDGE_PT_requests)
    assert "“Assistant's Script” of Cursor did not run." in drawn.text
    assert "MCP Bridge was stopped before anybody answered" in drawn.text
    bpy.ops.mcp_bridge.note_alert(request_id="r1")
    assert state.view.refused == ()
    assert "did not run" not in draw(requests.MCP_BRIDGE_PT_requests).text


def test_a_script_that_was_opened_to_be_read_is_gone_once_it_is_decided_about(queue: ApprovalQueue) -> None:
    waiting(queue)
    bpy.ops.mcp_bridge.open_script(request_id="r1")
    [text] = [text for text in bpy.data.texts if text.name.startswith("Assistant's Script")]
    assert text.as_string() == "x = 1"
    queue.deny("r1")
    state.refresh()
    assert not [text for text in bpy.data.texts if text.name.startswith("Assistant's Script")]


def opened(queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch, name: str = "r1") -> SimpleNamespace:
    """The dialog of this request as it was opened last."""
    entry = queue.get(name)
    monkeypatch.setattr(request_lists, "_listed", (name, entry.sha256))
    return SimpleNamespace(
        request_id=name,
        sha256=entry.sha256,
        revision=entry.revision,
        reason="too big",
        shown="after",
        opened=True,
    )


def test_the_dialog_shows_script_pictures_summary_and_a_no(
    queue: ApprovalQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(queue)
    kept = approvals.store()
    assert kept is not None
    bpy.data.images.new("p", 4, 4).save(filepath=str(kept.picture_path("r1", "before")))
    request_lists._load_pictures("r1")
    into, drawn = layout()
    shown = opened(queue, monkeypatch)
    review.draw(into, queue.get("r1"), shown, dialog_size.of(bpy.context))
    assert drawn.operators() == [
        "mcp_bridge.open_script",
        "mcp_bridge.copy_script",
        "mcp_bridge.deny_request",
    ]
    assert vars(drawn.buttons[2][1]) == {"request_id": "r1", "reason": "too big"}
    assert drawn.lists == ["MCP_BRIDGE_UL_script"]
    assert "Before" not in drawn.labels or request_lists.picture("r1", "before")
    queue.deny("r1", "too big")
    into, drawn = layout()
    review.draw(into, queue.get("r1"), shown, dialog_size.of(bpy.context))
    assert drawn.labels == ["This request was denied by you: too big"]


CHANGED = "This has changed since it was shown: close it and look again"


def test_a_dialog_whose_request_has_changed_shows_nothing_to_agree_to(
    queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(queue)
    shown = opened(queue, monkeypatch)
    queue.resubmit("r1", "c1", "x = 2")
    queue.store_script("r1", "x = 2")
    queue.store_validation("r1", {})
    queue.store_rehearsal("r1", {}, "", 7)
    queue.ask("r1", revision=7)
    into, drawn = layout()
    review.draw(into, queue.get("r1"), shown, dialog_size.of(bpy.context))
    assert (drawn.labels, drawn.buttons) == ([CHANGED], [])
    assert bpy.ops.mcp_bridge.review_request(request_id="r1", sha256=shown.sha256, revision=7) == {
        "CANCELLED"
    }
    assert queue.get("r1").state == "waiting"


def test_a_second_windows_dialog_takes_the_first_ones_script_away_and_its_yes(
    queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = waiting(queue)
    first = opened(queue, monkeypatch)
    monkeypatch.setattr(request_lists, "_listed", ("r2", "another"))
    into, drawn = layout()
    review.draw(into, entry, first, dialog_size.of(bpy.context))
    assert drawn.labels == [CHANGED]
    confirm = operators_requests.MCP_BRIDGE_OT_review_request._confirm
    with pytest.raises(BridgeError, match="Another request was opened meanwhile: look at this one again"):
        confirm(first, queue)
    assert queue.get("r1").state == "waiting"


@pytest.mark.parametrize(
    ("end", "now"),
    [
        (lambda queue: queue.deny("r1", "no"), "denied"),
        (lambda queue: queue.cancel("r1"), "cancelled"),
        (lambda queue: queue.expire("late"), "expired"),
        (lambda queue: queue.revoke("c1"), "cancelled"),
        (lambda queue: queue.send_back("r1"), "validated"),
    ],
    ids=["denied", "cancelled", "expired", "revoked", "scene changed"],
)
def test_what_ends_while_the_dialog_is_open_is_not_confirmed(
    queue: ApprovalQueue, end: Callable[[ApprovalQueue], object], now: str
) -> None:
    entry = waiting(queue)
    end(queue)
    shown = {"request_id": "r1", "sha256": entry.sha256, "revision": 7}
    assert bpy.ops.mcp_bridge.review_request(**shown) == {"CANCELLED"}
    assert (queue.get("r1").state, queue.get("r1").approval) == (now, None)


def test_what_waits_is_still_listed_after_another_file_was_opened(queue: ApprovalQueue) -> None:
    events.register()
    waiting(queue)
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    state.refresh()
    assert [row.name for row in getattr(bpy.context.window_manager, ROWS)] == ["r1"]
    events.unregister()


def test_closing_the_bridge_while_a_dialog_is_open_leaves_nothing_to_confirm(queue: ApprovalQueue) -> None:
    entry = waiting(queue)
    approvals.close()
    shown = {"request_id": "r1", "sha256": entry.sha256, "revision": 7}
    assert bpy.ops.mcp_bridge.review_request(**shown) == {"CANCELLED"}
    assert queue.get("r1").state == "expired"
