# SPDX-License-Identifier: GPL-3.0-or-later
"""What `describe` adds to a scene and to objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.scene.describe import aspects
from bl_ext.user_default.mcp_bridge.scene.nodes import bench, tree

from support.clients.tool_calls import ToolError, Tools

pytestmark = pytest.mark.usefixtures("empty_scene")


def box(name: str, *materials: Any) -> Any:
    made = bpy.data.objects.new(name, bpy.data.meshes.get("Box") or bpy.data.meshes.new("Box"))
    bpy.context.scene.collection.objects.link(made)
    for material in materials:
        made.data.materials.append(material)
    return made


def wood(name: str = "Wood") -> Any:
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    return made


def test_a_material_comes_as_its_node_tree_which_can_be_sent_back() -> None:
    item = box("A", wood())
    told = aspects.read_aspects(["materials"], None, [item])
    assert told == {"materials": {"Wood": {"users": 1, "tree": tree.read(item.active_material.node_tree)}}}
    assert json.loads(json.dumps(told))


def test_trees_beyond_what_one_answer_holds_are_named() -> None:
    large = wood("Large")
    for _ in range(aspects._MOST_NODES):
        large.node_tree.nodes.new("ShaderNodeValue")
    told = aspects.read_aspects(["materials"], None, [box("A", large, wood("Small"))])
    assert told["materials"]["Large"] == {"users": 1}
    assert len(told["materials"]["Small"]["tree"]["nodes"]) == 2
    assert told["left_out"] == {"node_trees": ["material Large"], "instead": "get_node_tree"}


def test_node_trees_of_the_scene_and_of_modifiers() -> None:
    scene, item = bpy.context.scene, box("A")
    scene.world = bpy.data.worlds.new("Sky")
    scene.world.use_nodes = True
    item.modifiers.new("Nodes", "NODES").node_group = bpy.data.node_groups.new("Scatter", "GeometryNodeTree")
    told = aspects.read_aspects(["node_trees"], scene, [item])["node_trees"]
    assert {"world Sky", "node_group Scatter"} <= set(told)
    assert told["node_group Scatter"]["type"] == "GeometryNodeTree"
    assert list(aspects.read_aspects(["node_trees"], None, [item])["node_trees"]) == ["node_group Scatter"]


def test_modifiers_of_those_that_have_some() -> None:
    plain, smooth = box("A"), box("B")
    smooth.modifiers.new("Smooth", "SUBSURF").levels = 3
    told = aspects.read_aspects(["modifiers"], None, [plain, smooth])
    assert told == {"modifiers": {"B": [{"name": "Smooth", "type": "SUBSURF", "properties": {"levels": 3}}]}}


def test_animation_is_a_line_for_each_curve_driver_and_track() -> None:
    item = box("A")
    for frame, z in ((1, 0.0), (25, 2.5)):
        item.location.z = z
        item.keyframe_insert("location", index=2, frame=frame)
    item.driver_add("scale", 0).driver.expression = "2 + 1"
    told = aspects.read_aspects(["animation"], None, [item])["animation"]
    assert told == [
        "Object A: location[2] 2 keys, frames 1 to 25, values 0 to 2.5",
        "Object A: scale[0] driven by 2 + 1",
    ]


def test_lines_are_cut_where_nobody_would_read_on() -> None:
    for number in range(aspects._MOST_LINES + 2):
        bpy.context.scene.collection.children.link(bpy.data.collections.new(f"C{number:04}"))
    told = aspects.read_aspects(["collections"], bpy.context.scene, [])["collections"]
    assert told[:2] == ["Scene Collection (0 objects)", "  C0000 (0 objects)"]
    assert (len(told), told[-1]) == (aspects._MOST_LINES + 1, "… 3 more")
    assert aspects.read_aspects(["collections"], None, [])["collections"] == []


def test_users_of_data_and_materials() -> None:
    items = [box(f"A{number:02}") for number in range(12)]
    items[0].data.materials.append(wood())
    told = aspects.read_aspects(["users"], None, items)["users"]
    assert told["Material Wood"] == {"users": 1, "by": ["Mesh Box"]}
    mesh = told["Mesh Box"]
    assert (mesh["users"], len(mesh["by"]), mesh["more"]) == (12, 10, 2)
    assert all(name.startswith("Object A") for name in mesh["by"])


def test_both_tools_by_a_client(tmp_path: Path) -> None:
    for number in range(3):
        box(f"A{number}")
    box("B", wood())
    gone = bpy.data.images.new("Gone", 4, 4)
    gone.source, gone.filepath = "FILE", str(tmp_path / "gone.png")
    tools = Tools()
    try:
        every = list(get_args(aspects.Aspect))
        first = tools("get_scene_info", limit=3, describe=every)
        assert set(first["described"]) == set(every)
        assert [one["name"] for one in first["described"]["missing_files"]] == ["Gone"]
        second = tools("get_scene_info", limit=3, describe=every, cursor=first["next_cursor"])
        assert [one["name"] for one in second["objects"]] == ["B"]
        assert list(second["described"]["materials"]) == ["Wood"]
        assert second["described"]["missing_files"] == []
        one = tools("get_object_info", name="B", describe=["materials", "users"])
        assert list(one["described"]) == ["materials", "users"]
        assert "described" not in tools("get_object_info", name="B")
        with pytest.raises(ToolError, match="describe"):
            tools("get_object_info", name="B", describe=["nonsense"])
    finally:
        tools.stop()


def test_reading_nodes_waits_while_the_user_is_in_the_middle_of_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    item = box("B", wood())
    assert item
    tools, waits = Tools(), []
    submitted = main_thread.run

    def run(do: Any, **how: Any) -> Any:
        waits.extend(how[name] for name in how if name == "changes")
        return submitted(do, **how)

    monkeypatch.setattr(main_thread, "run", run)
    try:
        for describe in ([], ["users"], ["materials"]):
            tools("get_object_info", name="B", describe=describe)
    finally:
        tools.stop()
    assert waits == [False, False, True]


def test_what_was_compared_before_makes_no_data_block_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a new data-block Blender works out the dependencies of the whole scene anew."""
    item = box("B", wood())
    before = aspects.read_aspects(["materials"], None, [item])
    made: list[str] = []
    scratch = bench.scratch
    monkeypatch.setattr(bench, "scratch", lambda kind, **how: made.append(kind) or scratch(kind, **how))
    assert aspects.read_aspects(["materials"], None, [item]) == before
    assert made == []
