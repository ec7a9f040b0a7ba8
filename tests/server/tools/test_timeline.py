# SPDX-License-Identifier: GPL-3.0-or-later
"""The timeline by a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.clients.tool_calls import ToolError, Tools


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


def _prepare() -> None:
    """Something to animate of every kind, each named after itself."""
    scene, data = bpy.context.scene, bpy.data
    for name, block in (
        ("Lamp", data.lights.new("Lamp", "POINT")),
        ("Eye", data.cameras.new("Eye")),
        ("Rig", data.armatures.new("Rig")),
    ):
        scene.collection.objects.link(data.objects.new(name, block))
    data.objects["Cube"].shape_key_add(name="Basis")
    data.objects["Cube"].shape_key_add(name="Smile")
    bpy.context.view_layer.objects.active = data.objects["Rig"]
    bpy.ops.object.mode_set(mode="EDIT")
    data.armatures["Rig"].edit_bones.new("Arm").tail = (0, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    data.lights["Lamp"].use_nodes = True
    for blocks, name in ((data.materials, "Paint"), (data.worlds, "Sky")):
        made = blocks.new(name)
        if made.node_tree is None:
            made.use_nodes = True
    value = data.node_groups.new("Group", "GeometryNodeTree").nodes.new("ShaderNodeValue")
    value.name = "Amount"


@pytest.mark.parametrize(
    ("kind", "name", "path", "value", "of", "curve"),
    [
        ("object", "Cube", "location[2]", 3.5, "Object Cube", "location"),
        ("object", "Cube", "hide_render", True, "Object Cube", "hide_render"),
        ("object", "Lamp", "data.energy", 50.0, "PointLight Lamp", "energy"),
        ("light", "Lamp", "energy", 50.0, "PointLight Lamp", "energy"),
        ("light", "Lamp", "node_tree.nodes['Emission'].inputs[1].default_value", 2.0, "ShaderNodeTree Shader Nodetree",
         'nodes["Emission"].inputs[1].default_value'),
        ("camera", "Eye", "lens", 85.0, "Camera Eye", "lens"),
        ("object", "Eye", "data.dof.focus_distance", 4.0, "Camera Eye", "dof.focus_distance"),
        ("object", "Rig", 'pose.bones["Arm"].location', [1.0, 2.0, 3.0], "Object Rig", 'pose.bones["Arm"].location'),
        ("object", "Cube", 'data.shape_keys.key_blocks["Smile"].value', 0.5, "Key Key", 'key_blocks["Smile"].value'),
        ("material", "Paint", "diffuse_color", [0.0, 0.5, 1.0, 1.0], "Material Paint", "diffuse_color"),
        ("material", "Paint", 'node_tree.nodes["Principled BSDF"].inputs["Roughness"].default_value', 0.25,
         "ShaderNodeTree Shader Nodetree", 'nodes["Principled BSDF"].inputs[2].default_value'),
        ("world", "Sky", "color", [0.0, 0.5, 1.0], "World Sky", "color"),
        ("node_group", "Group", 'nodes["Amount"].outputs[0].default_value', 7.0, "GeometryNodeTree Group",
         'nodes["Amount"].outputs[0].default_value'),
        ("scene", "", "view_settings.exposure", 1.5, "Scene ", "view_settings.exposure"),
    ],
)  # fmt: skip
def test_every_kind_of_thing(
    tools: Tools, kind: str, name: str, path: str, value: Any, of: str, curve: str
) -> None:
    _prepare()
    name = name or bpy.context.scene.name
    done = tools("set_keyframes", kind=kind, name=name, data_path=path, keys=[[1, value], [8, value]])
    numbers = value if isinstance(value, list) else [value]
    assert done["result"] == {"keys": 2, "curves": len(numbers)}
    told = tools("get_animation", kind=kind, name=name)["animated"]
    [part] = [part for part in told if part["of"].startswith(of)]
    assert {c["data_path"] for c in part["curves"]} == {curve}
    assert [c["keys"][1][:2] for c in part["curves"]] == [[8.0, number] for number in numbers]
    assert ("slot" in part) == (bpy.app.version >= (4, 4))


def test_other_curves_of_the_same_name_are_left_alone(tools: Tools) -> None:
    _prepare()
    rig = {"kind": "object", "name": "Rig"}
    bone = 'pose.bones["Arm"].location'
    tools("set_keyframes", **rig, data_path=bone, keys=[[1, [0, 0, 0]]], interpolation="CONSTANT")
    tools("set_keyframes", **rig, data_path="location", keys=[[1, [0, 0, 0]]], interpolation="LINEAR")
    [part] = tools("get_animation", **rig)["animated"]
    assert {(c["data_path"], c["keys"][0][2]) for c in part["curves"]} == {
        (bone, "CONSTANT"),
        ("location", "LINEAR"),
    }


def test_an_action_that_others_use_too(tools: Tools) -> None:
    """Where actions have slots, each user has curves of its own in it."""
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    tools("set_keyframes", kind="object", name="Cube", data_path="location", keys=[[1, [1, 1, 1]]])
    bpy.data.objects["Other"].animation_data_create().action = bpy.data.objects["Cube"].animation_data.action
    tools("set_keyframes", kind="object", name="Other", data_path="scale", keys=[[1, [2, 2, 2]]])
    told = [tools("get_animation", kind="object", name=name)["animated"][0] for name in ("Cube", "Other")]
    assert told[0]["action"] == told[1]["action"]
    own = [{c["data_path"] for c in part["curves"]} for part in told]
    shared = {"location", "scale"}
    assert own == ([{"location"}, {"scale"}] if bpy.app.version >= (4, 4) else [shared, shared])


def test_frame_range_and_rate(tools: Tools) -> None:
    done = tools("set_frame", frame=12, start=5, end=40, rate=29.97)
    assert done["result"] == {"frame": 12, "start": 5, "end": 40}
    told = tools("get_animation", kind="scene", name=bpy.context.scene.name)
    assert told["rate"] == pytest.approx(29.97)
    with pytest.raises(ToolError, match="the range begins at 9, after its end at 3"):
        tools("set_frame", start=9, end=3)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("locatoin", "'locatoin' leads to no property. Did you mean 'location'"),
        ("data.energy", "'data.energy' leads to no property"),
        ('modifiers["Nope"].height', "there is no 'modifiers[\"Nope\"]'"),
        ("location", "'location' of 'Cube' cannot be 0: "),
        ("location[7]", "'location' of 'Cube' cannot be 0: "),
        ("parent_type", "'parent_type' of 'Cube' cannot be 0: "),
    ],
)
def test_a_path_that_leads_nowhere_is_told(tools: Tools, path: str, says: str) -> None:
    with pytest.raises(ToolError) as caught:
        tools("set_keyframes", kind="object", name="Cube", data_path=path, keys=[[1, 0]])
    assert says in str(caught.value)
    assert bpy.data.objects["Cube"].animation_data is None


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
