# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools are found by what they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.mcp.features import Tool
from bl_ext.user_default.mcp_bridge.server.tools import all_tools
from bl_ext.user_default.mcp_bridge.server.tools.finding import ranked

from support.tool_calls import ToolError, Tools


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
        ("save_file", ["save_file", "export_file"]),
        ("export the objects to glTF", ["export_file", "set_keyframes"]),
        ("Keyframe", ["set_keyframes"]),
        ("anim", ["set_keyframes"]),
        ("the of to", []),
        ("knitting", []),
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
    ],
)
def test_real_tools_are_found(query: str, name: str) -> None:
    assert name in [one.name for one in ranked(query, all_tools())[:3]]


def test_a_client_gets_name_purpose_and_schema(tools: Tools) -> None:
    [found] = tools("find_tools", query="render image", limit=1)["tools"]
    assert found["name"] == "render_image"
    assert found["description"].startswith("Render the scene")
    assert "camera" in found["input_schema"]["properties"]
    with pytest.raises(ToolError, match="query"):
        tools("find_tools", query="")
