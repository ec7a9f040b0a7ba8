# SPDX-License-Identifier: GPL-3.0-or-later
"""The timeline by a client."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox import execute

from support.tool_calls import ToolError, Tools


@pytest.fixture
def tools(empty_scene: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tools]:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    execute._rate.clear()
    bpy.ops.mesh.primitive_cube_add()
    made = Tools()
    yield made
    made.stop()


def test_keys_are_set_and_told(tools: Tools) -> None:
    keys = [[1, [0, 0, 0]], [10, [0, 0, 5]]]
    done = tools(
        "set_keyframes", kind="object", name="Cube", data_path="location", keys=keys, interpolation="LINEAR"
    )
    assert done["result"] == {"keys": 2, "curves": 3}
    told = tools("get_animation", kind="object", name="Cube")
    (part,) = told["animated"]
    assert part["of"] == "Object Cube"
    heights = next(c for c in part["curves"] if c["index"] == 2)
    assert heights["data_path"] == "location"
    assert heights["keys"] == [[1.0, 0.0, "LINEAR"], [10.0, 5.0, "LINEAR"]]
    short = tools("get_animation", kind="object", name="Cube", limit=4)
    assert short["keys_left_out"] == 2


def test_a_custom_property_and_one_below(tools: Tools) -> None:
    bpy.data.objects["Cube"]["level"] = 1.0
    tools("set_keyframes", kind="object", name="Cube", data_path='["level"]', keys=[[1, 0.5], [5, 2.0]])
    bpy.data.objects["Cube"].modifiers.new("Wave", "WAVE")
    path = 'modifiers["Wave"].height'
    tools("set_keyframes", kind="object", name="Cube", data_path=path, keys=[[3, 1.5]])
    told = tools("get_animation", kind="object", name="Cube")["animated"][0]["curves"]
    assert {c["data_path"] for c in told} == {'["level"]', path}


def test_frame_range_and_rate(tools: Tools) -> None:
    done = tools("set_frame", frame=12, start=5, end=40, rate=29.97)
    assert done["result"] == {"frame": 12, "start": 5, "end": 40}
    told = tools("get_animation", kind="scene", name=bpy.context.scene.name)
    assert told["rate"] == pytest.approx(29.97)
    with pytest.raises(ToolError, match="the range begins at 9, after its end at 3"):
        tools("set_frame", start=9, end=3)


@pytest.mark.parametrize(
    "path",
    ["nope", "__class__.x", "data.__class__", 'id_data["x"].y', "filepath", "x = 1", "location; import os"],
)
def test_hostile_and_wrong_paths(tools: Tools, path: str) -> None:
    with pytest.raises(ToolError):
        tools("set_keyframes", kind="object", name="Cube", data_path=path, keys=[[1, 0]])
    assert bpy.data.objects["Cube"].animation_data is None


def test_wrong_keys_and_names(tools: Tools) -> None:
    with pytest.raises(ToolError, match=r"a key is \[frame, value\], not "):
        tools("set_keyframes", kind="object", name="Cube", data_path="location", keys=[[1]])
    with pytest.raises(ToolError, match=r"There is no object 'Cub' in this file\. Did you mean 'Cube'"):
        tools("set_keyframes", kind="object", name="Cub", data_path="location", keys=[[1, 2]])


def test_without_a_yes_nothing_is_animated(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "client")
    with pytest.raises(ToolError, match="The user has to agree before a script runs"):
        tools("set_keyframes", kind="object", name="Cube", data_path="location", keys=[[1, [0, 0, 0]]])
    with pytest.raises(ToolError, match="The user has to agree before a script runs"):
        tools("set_frame", frame=3)
