# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools are found by what they do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.server.protocol.features import Tool
from bl_ext.user_default.mcp_bridge.server.tools import all_tools
from bl_ext.user_default.mcp_bridge.server.tools.finding import parameters_of, ranked

from support.clients.tool_calls import ToolError, Tools


@pytest.fixture
def tools(empty_scene: None) -> Iterator[Tools]:
    started = Tools()
    yield started
    started.stop()


async def _nothing(_context: Any, _arguments: Any) -> Any:
    raise AssertionError("not called")


def _tool(name: str, description: str, **parameters: str) -> Tool:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties}
    return Tool(name=name, description=description, input_schema=schema, handler=_nothing)


_TOOLS = (
    _tool("save_file", "Write the open file to disk"),
    _tool("export_file", "Write objects as glTF, FBX or OBJ", path="where the file goes"),
    _tool("set_keyframes", "Animate properties of an object", object="its name"),
)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("save_file", ["save_file"]),
        ("write a file", ["save_file", "export_file"]),
        ("export the objects to glTF", ["export_file"]),
        ("Keyframe", ["set_keyframes"]),
        ("anim", ["set_keyframes"]),
        ("the of to", []),
        ("knitting", []),
        ("make a sound", []),
        ("knit an object", []),
    ],
)
def test_the_best_comes_first(query: str, names: list[str]) -> None:
    assert [one.name for one in ranked(query, _TOOLS)] == names


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("run python code", "execute_blender_code"),
        ("screenshot", "get_viewport_screenshot"),
        ("cancel a job", "cancel_job"),
        ("who made the assets, licences", "get_asset_credits"),
        ("animate an object's location", "set_keyframes"),
        ("insert a keyframe", "set_keyframes"),
        ("shader nodes of a material", "get_node_tree"),
        ("save the .blend file", "save_file"),
        ("render an animation to video", "render_animation"),
        ("download a 3D model", "download_polyhaven_asset"),
        ("Python API documentation", "search_api_docs"),
    ],
)
def test_real_tools_are_found(query: str, name: str) -> None:
    assert name in [one.name for one in ranked(query, all_tools())[:3]]


@pytest.mark.parametrize("query", ["make a sound", "send an email", "play music", "weather in Paris"])
def test_nothing_is_found_rather_than_something_else(query: str, tools: Tools) -> None:
    found = tools("find_tools", query=query)
    assert found == {"tools": [], "how": "No tool does that. Try execute_blender_code, or other words."}


def test_a_client_gets_name_purpose_and_parameters(tools: Tools) -> None:
    answer = tools("find_tools", query="render image", limit=1)
    [found] = answer["tools"]
    assert found["name"] == "render_image"
    assert found["description"].startswith("Render the current frame")
    assert any(line.startswith("camera: string, optional") for line in found["parameters"])
    assert answer["how"] == "Call one with use_tool: name, and its parameters as arguments."
    with pytest.raises(ToolError, match="query"):
        tools("find_tools", query="")


def test_parameters_are_told_with_types_defaults_and_choices() -> None:
    properties = {
        "path": {"type": "string", "description": "where to"},
        "kind": {"enum": ["a", "b"], "type": "string", "default": "a"},
        "size": {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}]},
        "part": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    made = Tool(
        name="t",
        input_schema={"type": "object", "properties": properties, "required": ["path"]},
        handler=_nothing,
    )
    assert parameters_of(made) == [
        "path: string – where to",
        'kind: "a" | "b" = "a"',
        "size: number | list of number, optional",
        "part: {name: string}, optional",
    ]


# --- use_tool ---


def test_a_tool_is_used_as_if_it_had_been_called(tools: Tools) -> None:
    given = {"prefix": "mesh", "limit": 2}
    direct = tools.raw("list_operators", given)
    assert tools.raw("use_tool", {"name": "list_operators", "arguments": given}) == direct


def test_use_tool_says_what_is_wrong_with_the_call(tools: Tools) -> None:
    for arguments, says in (
        ({"name": "lokk"}, "Unknown tool: lokk. Did you mean"),
        ({"name": "use_tool"}, "use_tool cannot call itself: name another tool"),
        ({"name": "list_operators", "arguments": {"prefx": "mesh"}}, "Invalid arguments for list_operators"),
        ({"nam": "look"}, "Invalid arguments for use_tool"),
        ({"name": "get_object_info", "arguments": {"name": "Nobody"}}, "There is no object 'Nobody'"),
    ):
        told = tools.raw("use_tool", arguments)["structuredContent"]
        assert told["error"] == "InvalidParamsError"
        assert says in told["message"]


def test_a_script_has_the_same_question_and_the_same_record(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path))
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "client")
    monkeypatch.setenv("BLENDER_MCP_REHEARSE", "never")
    refused = tools.raw("use_tool", {"name": "execute_blender_code", "arguments": {"code": ""}})
    assert refused["structuredContent"]["error"] == "InvalidParamsError"
    record = json.loads(journal.current().path.read_text().splitlines()[-1])
    assert (record["event"], record["tool"]) == ("execute_refused", "execute_blender_code")
    tools.capabilities = {"elicitation": {"form": {}}}
    script = {"name": "execute_blender_code", "arguments": {"code": "result = 40 + 2"}}
    asked = tools.raw("use_tool", script)
    [key] = asked["inputRequests"]
    yes = {key: {"action": "accept", "content": {"apply": True}}}
    done = tools.raw("use_tool", script, inputResponses=yes, requestState=asked["requestState"])
    assert done["structuredContent"]["result"] == 42


def test_a_client_that_lists_once_calls_what_it_has_found(tools: Tools) -> None:
    """As Codex, Qwen Code and Continue do: their list is that of the beginning for good."""
    listed = {tool["name"] for tool in tools._request("tools/list", "", {})["result"]["tools"]}
    found = tools("find_tools", query="search API documentation", limit=1)["tools"][0]["name"]
    assert found not in listed
    assert "use_tool" in listed
    answer = tools("use_tool", name=found, arguments={"query": "vertex group"})
    assert answer["results"]
