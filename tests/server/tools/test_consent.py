# SPDX-License-Identifier: GPL-3.0-or-later
"""Every change of the scene is looked at by an observer that knows nothing of the review but the journal on disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals import whom_to_ask
from bl_ext.user_default.mcp_bridge.approvals.approval_queue import ApprovalQueue
from bl_ext.user_default.mcp_bridge.approvals.request import Entry, OutOfTurn
from bl_ext.user_default.mcp_bridge.approvals.store import Store
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.server import bridge

from support.clients.tool_calls import Tools, on_worker
from support.confinement.rehearsing import rehearsals

BY = "the user in the panel"


class Observer:
    """Compares the scene after each evaluation; what is not the user's own has to have a yes in the journal."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._seen = self._look()
        self._user = False
        self.changes: list[str] = []
        self.without_yes: list[str] = []

    def __call__(self, *_: Any) -> None:
        now = self._look()
        if now == self._seen:
            return
        what, self._seen = sorted(now ^ self._seen), now
        if not self._user:
            self.changes.append(str(what))
            if not self._agreed():
                self.without_yes.append(str(what))

    @contextmanager
    def user(self) -> Iterator[None]:
        """What happens within this is the user's own doing."""
        self._user = True
        yield
        bpy.context.view_layer.update()
        self()
        self._user = False

    @staticmethod
    def _look() -> frozenset[str]:
        return frozenset(f"{item.name} {item.location[:]}" for item in bpy.data.objects)

    def _agreed(self) -> bool:
        """Whether the run that goes on now was confirmed, once, after it was last asked about."""
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        records = [json.loads(line) for line in lines]
        started = [record["request_id"] for record in records if record["event"] == "execute_started"]
        if not started or started.count(started[-1]) > 1:
            return False
        steps = [record["event"] for record in records if record.get("request_id") == started[-1]]
        return "request_applied" not in steps and steps[-3:] == [
            "request_confirmed",
            "request_confirmed",
            "execute_started",
        ]


@pytest.fixture(scope="module", autouse=True)
def _rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with rehearsals(tmp_path_factory.mktemp("rehearsals"), outlive=True):
        yield


@pytest.fixture
def queue(tmp_path: Path, empty_scene: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApprovalQueue]:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))
    monkeypatch.setattr(whom_to_ask, "has_window", lambda: True)
    execute._rate.clear()
    approvals.close()
    yield approvals.open_queue(Store(tmp_path / "requests", lambda pid: False))
    approvals.close()


@pytest.fixture
def tools(queue: ApprovalQueue) -> Iterator[Tools]:
    started = Tools()
    yield started
    started.stop()


@pytest.fixture
def observer(tools: Tools) -> Iterator[Observer]:
    watching = Observer(journal.current().path)
    for handlers in (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.undo_post):
        handlers.append(watching)
    yield watching
    bpy.context.view_layer.update()
    watching()
    assert not watching.without_yes
    for handlers in (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.undo_post):
        handlers.remove(watching)


def asked(tools: Tools, queue: ApprovalQueue, name: str) -> Entry:
    """A request that adds an object of this name and is before the user."""
    script = f"import bpy\nbpy.ops.mesh.primitive_cube_add()\nbpy.context.object.name = {name!r}"
    answer = tools.raw("inject_bpy_script", {"script": script, "title": name, "wait_seconds": 0})
    return becomes(queue, answer["structuredContent"]["request_id"], "waiting")


def becomes(queue: ApprovalQueue, request_id: str, state: str) -> Entry:
    """The request once it is in this state; Blender's work goes on meanwhile."""
    reached = threading.Event()
    unlisten = queue.listen(lambda entry: entry.id == request_id and entry.state == state and reached.set())
    if queue.get(request_id).state == state:
        reached.set()
    on_worker(lambda: reached.wait(60))
    unlisten()
    entry = queue.get(request_id)
    assert entry.state == state
    return entry


def agree(queue: ApprovalQueue, entry: Entry) -> None:
    assert entry.revision is not None
    queue.confirm(entry.id, sha256=entry.sha256, revision=entry.revision, by=BY)


def names() -> list[str]:
    return sorted(item.name for item in bpy.data.objects)


def test_only_what_was_agreed_to_changes_the_scene(
    tools: Tools, queue: ApprovalQueue, observer: Observer
) -> None:
    first, second, third = (asked(tools, queue, name) for name in ("A", "B", "C"))
    agree(queue, first)
    becomes(queue, first.id, "applied")
    # A's run has changed the scene: a yes to what was rehearsed before is void, and the user is asked again.
    agree(queue, second)
    again = becomes(queue, second.id, "waiting")
    assert again.revision != second.revision
    queue.deny(third.id, "enough")
    with pytest.raises(OutOfTurn, match="has changed since it was shown"):
        agree(queue, second)
    agree(queue, again)
    with pytest.raises(OutOfTurn, match="does not wait for an answer: it is confirmed"):
        agree(queue, again)  # pressed twice
    becomes(queue, second.id, "applied")
    assert names() == ["A", "B"]
    assert len(observer.changes) >= 2


def test_a_yes_stands_where_the_same_comes_out_and_something_else_has_changed(
    tools: Tools, queue: ApprovalQueue, observer: Observer
) -> None:
    with observer.user():
        bpy.ops.mesh.primitive_cube_add()
    entry = asked(tools, queue, "A")
    with observer.user():
        bpy.data.objects["Cube"].location.x = 5
    agree(queue, entry)
    again = becomes(queue, entry.id, "applied")
    assert "A" in names()
    assert bpy.data.objects["Cube"].location.x == 5
    assert again.summary.startswith("The scene changed: rehearsed again, the result is the same.")


@pytest.mark.parametrize("what", ["custom property", "undo", "file"])
def test_a_scene_that_changes_after_the_yes_needs_another(
    what: str, tools: Tools, queue: ApprovalQueue, observer: Observer
) -> None:
    with observer.user():
        bpy.ops.mesh.primitive_cube_add()
        bpy.ops.ed.undo_push(message="a cube")
        bpy.context.object.location.x = 1
        bpy.ops.ed.undo_push(message="moved")
    entry = asked(tools, queue, "A")
    with observer.user():
        if what == "custom property":
            bpy.data.objects["Cube"]["approved"] = True
        elif what == "undo":
            bpy.ops.ed.undo()
        else:
            bpy.ops.wm.read_homefile(use_factory_startup=True)
            for handlers in (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.undo_post):
                if observer not in handlers:
                    handlers.append(observer)
    agree(queue, entry)
    again = becomes(queue, entry.id, "waiting")
    assert again.revision != entry.revision
    assert again.summary.startswith("The scene changed: rehearsed again")
    assert "A" not in names()
    agree(queue, again)
    becomes(queue, entry.id, "applied")
    assert "A" in names()


def test_whoever_is_shut_out_or_gone_changes_nothing(
    tools: Tools, queue: ApprovalQueue, observer: Observer
) -> None:
    entry = asked(tools, queue, "A")
    agree(queue, entry)  # nothing has run yet: Blender's thread is here
    running = bridge.current()
    assert running is not None
    running.disconnect(entry.request.client_id)
    assert queue.get(entry.id).state == "cancelled"
    on_worker(lambda: threading.Event().wait(0.5))
    assert (names(), observer.changes) == ([], [])
