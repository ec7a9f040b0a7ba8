# SPDX-License-Identifier: GPL-3.0-or-later
"""A real client waits for events, lists changes and takes back its script."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.clients.tool_calls import ToolError, Tools

YES = {"action": "accept", "content": {}}


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tools]:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    execute._rate.clear()
    approvals.close()
    started = Tools()
    yield started
    started.stop()


def run(tools: Tools, code: str, title: str = "") -> str:
    """Run a script; the id of its request."""
    answer = tools("execute_blender_code", code=code, title=title)
    assert answer["status"] == "success"
    queue = approvals.current()
    assert queue is not None
    return queue.entries()[0].id


MOVE = "import bpy\nbpy.data.objects['Cube'].location.x = 5\n"


def test_changes_of_both_since_a_revision(tools: Tools) -> None:
    revision = tools("list_changes")["revision"]
    bpy.data.objects["Light"].location.z += 1
    bpy.context.view_layer.update()
    run(tools, MOVE, "Move the cube")
    answer = tools("list_changes", since_revision=revision)
    assert answer["complete"]
    assert answer["revision"] > revision
    mine, theirs = answer["changes"][0], answer["changes"][-1]
    assert mine["by"] == "user"
    assert "Light" in mine["names"]["objects"]
    assert (theirs["by"], theirs["title"]) == ("assistant", "Move the cube")
    assert "Cube" in theirs["names"]["objects"]
    only = tools("list_changes", since_revision=revision, by="user")["changes"]
    assert {change["by"] for change in only} == {"user"}
    assert tools("list_changes", since_revision=answer["revision"])["changes"] == []


def test_waiting_for_what_the_user_does(tools: Tools) -> None:
    def later() -> None:
        main_thread.run(lambda: bpy.context.scene.frame_set(42), changes=False)

    timer = threading.Timer(0.3, later)
    timer.start()
    answer = tools("wait_for_event", events=["frame"], timeout_seconds=20)
    timer.join()
    [event] = answer["events"]
    assert (event["what"], event["by"], event["facts"]) == ("frame", "user", {"frame": 42})
    assert not answer["timed_out"]
    bpy.context.scene.frame_set(43)
    missed = tools("wait_for_event", events=["frame"], after=answer["newest"], timeout_seconds=0)
    assert missed["events"][0]["facts"] == {"frame": 43}


def test_nothing_happens(tools: Tools) -> None:
    answer = tools("wait_for_event", events=["load"], timeout_seconds=0.05)
    assert (answer["events"], answer["timed_out"]) == ([], True)


def test_a_script_is_taken_back(tools: Tools) -> None:
    request_id = run(tools, MOVE)
    assert bpy.data.objects["Cube"].location.x == 5
    assert tools("undo_request", request_id=request_id) == {"status": "success", "request_id": request_id}
    assert bpy.data.objects["Cube"].location.x == 0
    with pytest.raises(ToolError, match="is undone already: there is nothing to undo"):
        tools("undo_request", request_id=request_id)


def test_the_users_work_is_not_taken_back_along(tools: Tools) -> None:
    request_id = run(tools, MOVE)
    bpy.data.objects["Light"].location.z = 9
    bpy.context.view_layer.update()
    with pytest.raises(ToolError, match="The scene has changed since this script ran"):
        tools("undo_request", request_id=request_id)
    assert bpy.data.objects["Light"].location.z == 9
    assert bpy.data.objects["Cube"].location.x == 5


def test_who_is_asked_before_a_script_is_asked_before_its_undo(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_id = run(tools, MOVE, "Move")
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "client")
    with pytest.raises(ToolError, match="elicitation"):
        tools("undo_request", request_id=request_id)
    tools.capabilities = {"elicitation": {"form": {}}}
    first = tools.raw("undo_request", {"request_id": request_id})
    [(key, request)] = first["inputRequests"].items()
    assert request["params"]["message"] == "Undo “Move”?"
    assert bpy.data.objects["Cube"].location.x == 5
    rounds: Any = {"inputResponses": {key: YES}, "requestState": first["requestState"]}
    assert (
        tools.raw("undo_request", {"request_id": request_id}, **rounds)["structuredContent"]["status"]
        == "success"
    )
    assert bpy.data.objects["Cube"].location.x == 0


def test_an_unknown_request(tools: Tools) -> None:
    with pytest.raises(ToolError, match="there is no request 'x'"):
        tools("undo_request", request_id="x")
