# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import struct

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.scene.describe import overview
from bl_ext.user_default.mcp_bridge.scene.describe.properties import short
from hypothesis import given
from hypothesis import strategies as st
from mathutils import Color, Euler, Vector


def _cube(name: str, at: tuple[float, float, float] = (0, 0, 0)) -> bpy.types.Object:
    bpy.ops.mesh.primitive_cube_add(size=2, location=at)
    bpy.context.object.name = name
    return bpy.context.object


@pytest.mark.usefixtures("empty_scene")
def test_an_object_in_full() -> None:
    cube = _cube("Box", (1, 2, 3))
    child = _cube("Lid")
    child.parent = cube
    cube.scale = (2, 1, 1)
    cube.modifiers.new("Smooth", "SUBSURF").levels = 3
    cube.modifiers.new("Hidden", "BEVEL").show_viewport = False
    cube.constraints.new("COPY_LOCATION").target = _cube("Goal", (1, 2, 3))
    cube.constraints[0].mute = True
    cube.data.materials.append(bpy.data.materials.new("Wood"))
    cube["weights"] = [1.5, 2]
    cube["tags"] = {"room": "kitchen"}
    cube["maker"] = cube.data
    info = overview.object_info("Box")
    assert json.loads(json.dumps(info))
    assert (info["type"], info["data"], info["parent"], info["children"]) == ("MESH", "Cube", None, ["Lid"])
    assert info["world_location"] == (1, 2, 3)
    assert info["materials"] == ["Wood"]
    assert info["mesh"] == {
        "vertices": 8,
        "edges": 12,
        "faces": 6,
        "triangles": 12,
        "uv_layers": ["UVMap"],
        "color_attributes": [],
        "vertex_groups": [],
        "shape_keys": [],
    }
    smooth, hidden = info["modifiers"]
    assert smooth == {"name": "Smooth", "type": "SUBSURF", "properties": {"levels": 3}}
    assert (hidden["name"], hidden["properties"]["show_viewport"]) == ("Hidden", False)
    assert (
        info["constraints"][0]["properties"] | {"mute": True, "target": "Goal"}
        == info["constraints"][0]["properties"]
    )
    assert info["custom_properties"] == {"weights": [1.5, 2], "tags": {"room": "kitchen"}, "maker": "Cube"}


@pytest.mark.usefixtures("empty_scene")
def test_bounds_are_in_world_space_and_follow_the_transform() -> None:
    cube = _cube("Box", (1, 2, 3))
    cube.scale = (2, 1, 1)
    bounds = overview.object_info("Box")["bounds"]
    assert bounds == {"min": (-1, 1, 2), "max": (3, 3, 4), "size": (4, 2, 2), "center": (1, 2, 3)}


@pytest.mark.usefixtures("empty_scene")
def test_edit_mode_counts_what_is_being_edited() -> None:
    _cube("Box")
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide()
    info = overview.object_info("Box")
    assert (info["mode"], info["mesh"]["vertices"]) == ("EDIT", 26)
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.usefixtures("empty_scene")
def test_a_name_that_does_not_exist_brings_suggestions() -> None:
    _cube("Table Leg")
    with pytest.raises(InvalidParamsError) as caught:
        overview.object_info("table_leg")
    assert str(caught.value) == "There is no object 'table_leg' in this file. Did you mean 'Table Leg'?"


@pytest.mark.usefixtures("empty_scene")
def test_every_object_is_reached_page_by_page_and_once() -> None:
    mesh = bpy.data.meshes.new("Mesh")
    for number in range(250):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(f"Part {number:03}", mesh))
    names: list[str] = []
    cursor = None
    while True:
        page = overview.scene_info(limit=60, cursor=cursor, fields=())
        names += [item["name"] for item in page["objects"]]
        assert page["matching"] == 250
        assert ("statistics" in page) == (cursor is None)
        cursor = page.get("next_cursor")
        if cursor is None:
            break
        # What goes between two pages must not make another one vanish.
        if len(names) == 60:
            bpy.data.objects.remove(bpy.data.objects["Part 010"])
            bpy.context.scene.collection.objects.link(bpy.data.objects.new("Part 000b", mesh))
    assert names == [f"Part {number:03}" for number in range(250)]


@pytest.mark.usefixtures("empty_scene")
def test_filters_and_fields() -> None:
    _cube("Chair Leg", (1, 0, 0))
    _cube("Chair Seat")
    bpy.ops.object.light_add(type="SUN")
    shelf = bpy.data.collections.new("Shelf")
    bpy.context.scene.collection.children.link(shelf)
    shelf.objects.link(bpy.data.objects["Chair Leg"])

    def names(**filters: object) -> list[str]:
        return [item["name"] for item in overview.scene_info(**filters)["objects"]]

    assert names(types=["LIGHT"]) == ["Sun"]
    assert names(collection="Shelf") == ["Chair Leg"]
    assert names(name_contains="CHAIR") == ["Chair Leg", "Chair Seat"]
    assert names(selected_only=True) == ["Sun"]
    info = overview.scene_info(name_contains="leg", fields=["location", "collections", "materials"])
    [leg] = info["objects"]
    assert sorted(leg.pop("collections")) == ["Scene Collection", "Shelf"]
    assert leg == {"name": "Chair Leg", "location": (1, 0, 0), "materials": []}
    assert info["object_types"] == {"MESH": 2, "LIGHT": 1}
    assert {"name": "Shelf", "parent": "Scene Collection", "objects": 1} in info["collections"]
    assert info["statistics"]["vertices"] == 16
    with pytest.raises(
        InvalidParamsError, match=r"There is no collection 'Shlef' in this file\. Did you mean 'Shelf'\?"
    ):
        names(collection="Shlef")


@pytest.mark.usefixtures("empty_scene")
@pytest.mark.parametrize("cursor", ["", "nonsense!", "eyJhIjoxfQ", "W10", "é"])
def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidParamsError, match="cursor is not one that this tool gave"):
        overview.scene_info(cursor=cursor)


@pytest.mark.usefixtures("empty_scene")
def test_another_scene_by_name() -> None:
    _cube("Box")
    bpy.data.scenes.new("Second")
    info = overview.scene_info(name="Second")
    assert (info["name"], info["matching"], info["active_object"]) == ("Second", 0, None)


#: Blender's floats: any bits, and numbers close to where rounding turns.
_FLOATS = st.one_of(
    st.integers(0, 2**32 - 1).map(lambda bits: struct.unpack("f", bits.to_bytes(4, "little"))[0]),
    st.integers(-(10**6), 10**6).map(lambda number: (number + 0.5) / 10**5),
    st.tuples(st.integers(-(2**20), 2**20), st.integers(0, 30)).map(lambda parts: parts[0] / 2 ** parts[1]),
    st.floats(-100, 100, width=32),
)


@pytest.mark.parametrize("kind", [Vector, Euler, Color])
@given(numbers=st.tuples(_FLOATS, _FLOATS, _FLOATS))
def test_a_vector_is_rounded_as_its_numbers_are(kind: type, numbers: tuple[float, float, float]) -> None:
    vector = kind(numbers)
    assert repr(overview._vector(vector)) == repr(tuple(short(number) for number in vector))
