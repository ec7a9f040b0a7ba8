# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import jobs, main_thread
from bl_ext.user_default.mcp_bridge.sandbox.run import undo
from bl_ext.user_default.mcp_bridge.scene import events, history


@pytest.fixture(autouse=True)
def _watching() -> Iterator[None]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    events.register()
    bpy.context.view_layer.update()
    history._events.clear()  # an earlier test's change within the last second would be taken for the same
    yield
    events.unregister()


def assistant(do: Any) -> None:
    """Do it as a call of an assistant's does."""
    main_thread.start()
    work = main_thread.run(do, label="some_tool")
    main_thread.pump(lambda: not work.done())
    work.result()


def move(name: str = "Cube") -> None:
    bpy.data.objects[name].location.x += 1
    bpy.context.view_layer.update()


def new(after: int, *whats: str) -> list[history.Event]:
    return history.since(after, whats)


def test_a_change_names_what_changed_and_who_did_it() -> None:
    before = history.newest()
    move()
    assistant(lambda: move("Light"))
    mine, theirs = new(before, "change")
    assert (mine.by, mine.names["objects"]) == ("user", {"Cube"})
    assert (theirs.by, theirs.by_what, theirs.names["objects"]) == ("assistant", "some_tool", {"Light"})
    assert mine.revision < theirs.revision <= events.revision()


def test_what_goes_on_is_one_event_that_is_renewed() -> None:
    before = history.newest()
    for frame in range(20, 60):
        bpy.context.scene.frame_set(frame)
    [event] = new(before, "frame")
    assert event.facts == {"frame": 59}
    assert event.number > before + 20


def test_a_step_gives_its_change_a_title() -> None:
    before = history.newest()

    def change() -> None:
        for title in ("One", "Two"):
            with undo.one_step(title):
                bpy.data.objects["Cube"].location.x += 1

    assistant(change)
    assert [event.title for event in new(before, "change")] == ["One", "Two"]


def test_selection_active_mode_undo_files_and_renders() -> None:
    before = history.newest()
    bpy.context.view_layer.objects.active = bpy.data.objects["Light"]
    bpy.data.objects["Light"].select_set(True)
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.context.view_layer.update()
    bpy.ops.object.mode_set(mode="OBJECT")
    for message in ("b", "c"):
        bpy.ops.ed.undo_push(message=message)
    bpy.ops.ed.undo()
    bpy.ops.ed.redo()
    job = jobs.registry.begin("render", "A Render", "alice")
    job.complete(None)
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    seen = {event.what for event in new(before)}
    assert {"selection", "active", "mode", "undo", "redo", "load", "render"} <= seen
    [render] = new(before, "render")
    assert render.facts == {"job_id": job.id, "state": "completed"}


def test_the_history_keeps_a_limited_number_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    assert history.complete_since(0)
    for revision in range(1500):
        history.record("undo", 10_000_000 + revision)
    assert not history.complete_since(10_000_100)
    assert history.complete_since(10_001_400)
    assert len(history.since(0)) == 1000
    history._events.clear()


def test_listeners_are_told_each_time() -> None:
    told: list[history.Event] = []
    stop = history.listen(told.append)
    bpy.context.scene.frame_set(30)
    stop()
    bpy.context.scene.frame_set(31)
    assert [event.facts for event in told if event.what == "frame"] == [{"frame": 30}]
