# SPDX-License-Identifier: GPL-3.0-or-later
"""Many calls at once: one undo step, each with its own result, and no way round a question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.sandbox.run import undo
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server import tools as all_of
from bl_ext.user_default.mcp_bridge.server.tools import batch
from bl_ext.user_default.mcp_bridge.server.tools.registry import make, tool

from support.clients.tool_calls import ToolError, Tools


@tool(title="Add")
def add_empty(context: Any, name: str, count: int = 1) -> dict[str, Any]:
    """Add an object, and fail after that for the name `bad`."""
    with undo.one_step("Add"):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(name, None))
        if name == "bad":
            raise InvalidParamsError("a bad name")
    return {"name": name, "count": count}


@pytest.fixture
def tools() -> Iterator[Tools]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    started = Tools()
    running = bridge.current()
    assert running is not None
    running.features.add(make(add_empty))
    yield started
    started.stop()


def call(tool_name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool_name, "arguments": arguments}


def names() -> set[str]:
    return set(bpy.data.objects.keys())


def test_each_call_has_its_result_and_all_are_one_undo_step(tools: Tools) -> None:
    before = names()
    calls = [
        call("add_empty", name="a"),
        call("get_object_info", name="a"),
        call("add_empty", name="b", count=2.0),
    ]
    answer = tools("batch", calls=calls)
    assert [result["tool"] for result in answer["results"]] == ["add_empty", "get_object_info", "add_empty"]
    assert answer["results"][1]["result"]["type"] == "EMPTY"
    assert answer["results"][2]["result"] == {"name": "b", "count": 2}
    assert (answer["failed"], answer["rolled_back"]) == (0, False)
    assert names() == before | {"a", "b"}
    bpy.ops.ed.undo()
    assert names() == before


def test_the_first_failure_takes_everything_back(tools: Tools) -> None:
    before = names()
    answer = tools.raw("batch", {"calls": [call("add_empty", name=name) for name in ("a", "bad", "c")]})
    assert answer["isError"]
    facts = answer["structuredContent"]
    assert facts["rolled_back"]
    assert [result["is_error"] for result in facts["results"]] == [False, True]
    assert facts["results"][1]["text"] == "InvalidParamsError: a bad name"
    assert facts["results"][1]["result"]["error"] == "InvalidParamsError"
    assert names() == before


def test_going_on_after_a_failure(tools: Tools) -> None:
    calls = [call("get_object_info", name="nobody"), call("add_empty", name="c"), call("add_empty")]
    answer = tools("batch", calls=calls, stop_on_error=False)
    assert [result["is_error"] for result in answer["results"]] == [True, False, True]
    assert "nobody" in answer["results"][0]["text"]
    wrong = answer["results"][2]["result"]
    assert wrong["error"] == "InvalidParamsError"
    assert wrong["message"].startswith("Invalid arguments for add_empty: 'name' is missing")
    assert "c" in names()


def test_pictures_come_along(tools: Tools) -> None:
    shot = call("get_viewport_screenshot", max_size=64)
    content = tools.raw("batch", {"calls": [shot, shot]})["content"]
    assert [block["type"] for block in content] == ["text", "image", "image"]


@pytest.mark.parametrize("name", ["execute_blender_code", "inject_bpy_script", "batch", "render_image"])
def test_tools_that_ask_or_take_long_are_refused_in_a_batch(tools: Tools, name: str) -> None:
    with pytest.raises(ToolError, match=f"{name} cannot be part of a batch: call it by itself"):
        tools("batch", calls=[call(name)])


def test_no_tool_that_leaves_the_main_thread_is_a_part() -> None:
    for function in (*all_of.CORE, *all_of.FURTHER):
        if asyncio.iscoroutinefunction(function):
            assert make(function).now is None


def test_an_unknown_tool(tools: Tools) -> None:
    with pytest.raises(ToolError, match=r"Unknown tool: get_scene\. Did you mean"):
        tools("batch", calls=[call("get_scene")])


def test_without_undo_nothing_is_changed_and_reading_goes_on(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bpy.context.preferences.edit, "use_global_undo", False)
    with pytest.raises(ToolError, match="Global Undo is off"):
        tools("batch", calls=[call("add_empty", name="a")])
    assert "a" not in names()
    assert tools("batch", calls=[call("get_scene_info")])["failed"] == 0


def test_it_holds_blender_up_no_longer_than_a_script_may(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = settings.load(environ={}, preferences={"time_limit_s": 0.1})
    monkeypatch.setattr(settings, "current", lambda: short)
    clock = iter(range(100))
    monkeypatch.setattr(batch, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    with pytest.raises(ToolError, match=r"Not begun: the batch has held Blender up for 0\.1 s, its limit"):
        tools("batch", calls=[call("get_scene_info")])


def test_too_many_calls_are_refused(tools: Tools) -> None:
    with pytest.raises(ToolError, match="calls"):
        tools("batch", calls=[call("get_scene_info")] * 101)
