# SPDX-License-Identifier: GPL-3.0-or-later
"""Sheets of several views, which share one camera and one light."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError
from bl_ext.user_default.mcp_bridge.scene.look import cycles, sheet

#: View -> the colour of the side that it shows.
_COLOURS = {
    "front": (1, 0, 0),
    "back": (0, 1, 0),
    "left": (0, 0, 1),
    "right": (1, 1, 0),
    "top": (0, 1, 1),
    "bottom": (1, 0, 1),
}


def _glowing(colour: tuple[float, float, float]) -> bpy.types.Material:
    material = bpy.data.materials.new("Side")
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    glow, output = (tree.nodes.new(kind) for kind in ("ShaderNodeEmission", "ShaderNodeOutputMaterial"))
    glow.inputs["Color"].default_value = (*colour, 1)
    tree.links.new(glow.outputs[0], output.inputs["Surface"])
    return material


@pytest.fixture
def sides(empty_scene: None) -> bpy.types.Object:
    """A cube with a colour for each side."""
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    for number, (view, colour) in enumerate(_COLOURS.items()):
        cube.data.materials.append(_glowing(colour))
        for side in cube.data.polygons:
            if side.normal.dot(sheet._FROM[view]) > 0.9:
                side.material_index = number
    return cube


def _middles(drawn: sheet.Sheet, columns: int) -> list[tuple[int, ...]]:
    """Return the colour in the middle of each view, as 0 or 1 for red, green and blue."""
    side = drawn.bare.shape[1] // columns
    rows = drawn.bare.shape[0] // side
    return [
        tuple((drawn.bare[row * side + side // 2, column * side + side // 2, :3] > 127).astype(int))
        for row in reversed(range(rows))
        for column in range(columns)
    ]


def _state() -> list[Any]:
    scene: Any = bpy.context.scene
    return [
        scene.camera,
        scene.render.engine,
        scene.render.use_persistent_data,
        scene.render.is_property_set("use_persistent_data"),
        list(scene.keys()),
        *(sorted(getattr(bpy.data, kind).keys()) for kind in ("objects", "cameras", "lights", "images")),
    ]


def test_each_view_shows_its_side_and_nothing_stays(sides: bpy.types.Object) -> None:
    before = _state()
    drawn = sheet.make(views=list(_COLOURS), max_size=192)
    assert _middles(drawn, 3) == [_COLOURS[view] for view in _COLOURS]
    assert _state() == before


def test_solid_views_have_the_colours_of_a_solid_viewport(sides: bpy.types.Object) -> None:
    """A viewport with solid shading leaves out the scene's view transform."""
    drawn = sheet.make(views=["front"], max_size=64)
    view: Any = bpy.context.scene.view_settings
    before = view.view_transform, view.look, view.exposure
    other = "Filmic", "Very High Contrast", -4.0
    view.view_transform, view.look, view.exposure = other
    try:
        assert (sheet.make(views=["front"], max_size=64).bare == drawn.bare).all()
        assert (view.view_transform, view.look, view.exposure) == other
    finally:
        view.view_transform, view.look, view.exposure = before


def test_what_changed_since_the_last_picture_is_seen(sides: bpy.types.Object) -> None:
    """Cycles keeps what it has built from one view to the next, and from none to the next sheet."""
    scene: Any = bpy.context.scene
    for frame, turn in ((1, 0.0), (2, np.pi / 2), (3, np.pi)):
        sides.rotation_euler.z = turn
        sides.keyframe_insert("rotation_euler", frame=frame)
    seen = [_middles(sheet.make(views=["front"], max_size=64), 1)[0]]
    for frame in (2, 3):
        scene.frame_set(frame)
        seen.append(_middles(sheet.make(views=["front"], max_size=64), 1)[0])
    assert seen == [_COLOURS["front"], _COLOURS["left"], _COLOURS["back"]]
    sides.animation_data_clear()
    sides.rotation_euler.z = 0
    sides.data.materials[0] = _glowing((1, 1, 1))
    assert _middles(sheet.make(views=["front"], max_size=64), 1) == [(1, 1, 1)]


def test_the_scene_is_sorted_anew_for_the_sheet_and_not_for_each_view(
    sides: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change of the scene's camera, and each new object, makes Blender sort it."""
    seen: list[tuple[Any, int]] = []
    really = cycles._render

    def render(*arguments: Any) -> Any:
        seen.append((bpy.context.scene.camera, len(bpy.context.scene.objects)))
        return really(*arguments)

    monkeypatch.setattr(cycles, "_render", render)
    sheet.make(views=["front", "left", "perspective"], max_size=64)
    assert len(seen) == 3
    assert len(set(seen)) == 1


@pytest.mark.parametrize("shown", [{"views": ["front", "top"]}, {"frames": [1, 5]}])
def test_a_camera_that_a_marker_binds_is_no_view(sides: bpy.types.Object, shown: dict[str, Any]) -> None:
    """Blender renders the camera of the marker, whichever camera the scene has."""
    scene: Any = bpy.context.scene
    cameras = []
    for number, height in enumerate((-6, 6)):
        camera = bpy.data.objects.new(f"Camera {number}", bpy.data.cameras.new("Camera"))
        camera.location, camera.rotation_euler = (0, 0, height), (np.pi * (height < 0), 0, 0)
        scene.collection.objects.link(camera)
        cameras.append(camera)
    scene.camera = cameras[1]
    free = sheet.make(**shown, max_size=128)
    marker = scene.timeline_markers.new("cut", frame=1)
    marker.camera = cameras[0]
    scene.camera = cameras[1]
    try:
        bound = sheet.make(**shown, max_size=128)
        assert (marker.camera, scene.camera) == (cameras[0], cameras[1])
        assert (bound.bare == free.bare).all()
    finally:
        scene.timeline_markers.remove(marker)


def test_a_render_that_writes_nothing_shows_no_earlier_picture(
    sides: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _state()
    ends = iter([{"FINISHED"}, {"CANCELLED"}])

    class Render:
        @staticmethod
        def render(*, write_still: bool) -> set[str]:
            ended = next(ends)
            if ended == {"FINISHED"}:
                bpy.ops.render.render(write_still=write_still)
            return ended

    monkeypatch.setattr(cycles, "bpy", SimpleNamespace(ops=SimpleNamespace(render=Render), data=bpy.data))
    with pytest.raises(ExternalServiceError, match="Blender rendered the picture but wrote nothing"):
        sheet.make(views=["front", "top"], max_size=64)
    assert _state() == before


def test_the_scenes_camera_is_a_view_beside_others(sides: bpy.types.Object) -> None:
    with pytest.raises(InvalidParamsError, match="the scene has no camera: leave the view camera out"):
        sheet.make(views=["front", "camera"], max_size=64)
    camera = bpy.data.objects.new("Mine", bpy.data.cameras.new("Mine"))
    bpy.context.scene.collection.objects.link(camera)
    camera.location, camera.rotation_euler = (0, 0, -6), (np.pi, 0, 0)
    bpy.context.scene.camera = camera
    before = _state()
    drawn = sheet.make(views=["front", "camera", "top", "left"], max_size=128)
    assert _middles(drawn, 2) == [_COLOURS[view] for view in ("front", "bottom", "top", "left")]
    assert _state() == before
