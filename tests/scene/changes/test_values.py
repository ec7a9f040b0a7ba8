# SPDX-License-Identifier: GPL-3.0-or-later
"""What a data-block is made of, as paths and values that a person can read."""

from __future__ import annotations

import json
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene.changes import values as values_module
from bl_ext.user_default.mcp_bridge.scene.changes.values import SETTINGS, value_of, values


@pytest.fixture(autouse=True)
def cube() -> Any:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    return bpy.data.objects["Cube"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.1 + 0.2, 0.3),
        ("text", "text"),
        ("x" * 301, "x" * 300 + "…"),
        (b"abc", "3 bytes"),
        ({"b", "a"}, ["a", "b"]),
        ((1.0, 2.00000001), [1.0, 2.0]),
        (list(range(66)), [*range(64), "… 66 in all"]),
        ({"a": {"b": (1, 2)}}, {"a": {"b": [1, 2]}}),
        (object(), "object"),
    ],
)
def test_a_value_becomes_json(value: Any, shown: Any) -> None:
    assert value_of(value) == shown
    json.dumps(value_of(value), allow_nan=False)


def test_a_data_block_as_a_value_is_its_name(cube: Any) -> None:
    assert value_of(cube) == "Cube"


def test_members_are_found_by_their_path_and_lists_by_name(cube: Any) -> None:
    cube.modifiers.new("Soft", "BEVEL").width = 0.25
    cube["height"] = 2.5
    found = values(cube)
    assert found["location"] == [0.0, 0.0, 0.0]
    assert found["data"] == "Cube"
    assert found["modifiers['Soft']"] == "Bevel modifier"
    assert found["modifiers['Soft'].width"] == 0.25
    assert found["modifiers['Soft']" + SETTINGS] == {"width": 0.25}
    assert found["['height']"] == 2.5
    json.dumps(found, allow_nan=False)


def test_what_follows_from_something_else_or_is_the_interfaces_is_left_out(cube: Any) -> None:
    before = values(cube)
    cube.select_set(False)
    bpy.context.view_layer.update()
    assert values(cube) == before
    assert not {"matrix_world", "dimensions", "users", "name_full", "is_evaluated"} & before.keys()


def test_nodes_and_links_are_found_by_name(cube: Any) -> None:
    found = values(bpy.data.materials["Material"])
    assert found["node_tree.nodes['Principled BSDF'].inputs['Roughness'].default_value"] == 0.5
    assert found["node_tree.links[Principled BSDF.BSDF → Material Output.Surface]"] == "NodeLink"
    assert "node_tree.nodes['Principled BSDF'].location" not in found


def test_geometry_is_told_by_counts_and_a_digest() -> None:
    mesh = bpy.data.meshes["Cube"]
    before = values(mesh)
    assert (before["vertices"], before["faces"], before["extent"]) == (8, 6, [2.0, 2.0, 2.0])
    mesh.vertices[0].co.x = 5
    after = values(mesh)
    assert {path for path in before if before[path] != after[path]} == {"extent", "positions"}


def test_names_may_be_given_for_others(cube: Any) -> None:
    cube.parent = bpy.data.objects["Camera"]
    assert values(cube, {cube.parent.session_uid: "Renamed"})["parent"] == "Renamed"


def test_very_many_values_are_cut(cube: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values_module, "_MOST", 50)
    assert len(values(cube)) == 50


def test_what_refers_to_itself_comes_to_an_end() -> None:
    group = bpy.data.node_groups.new("Loop", "GeometryNodeTree")
    for _ in range(3):
        group.nodes.new("NodeFrame")
    group.nodes[1].parent, group.nodes[2].parent = group.nodes[0], group.nodes[1]
    assert len(values(group)) < values_module._MOST
