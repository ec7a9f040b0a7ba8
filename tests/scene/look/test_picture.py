# SPDX-License-Identifier: GPL-3.0-or-later
"""Without a window here; tests/window has the real viewport."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.scene.look import picture


def _mean_color(shot: picture.Picture, tmp_path: object) -> list[float]:
    path = f"{tmp_path}/shot.{shot.mime_type.removeprefix('image/')}"
    with open(path, "wb") as file:
        file.write(shot.data)
    image = bpy.data.images.load(path)
    assert tuple(image.size) == (shot.width, shot.height)
    pixels = list(image.pixels)
    bpy.data.images.remove(image)
    return [sum(pixels[channel::4]) / (len(pixels) // 4) for channel in range(3)]


@pytest.fixture
def red_cube(empty_scene: None) -> bpy.types.Object:
    bpy.ops.mesh.primitive_cube_add()
    material = bpy.data.materials.new("Red")
    material.use_nodes = True
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (1, 0, 0, 1)
    material.node_tree.nodes["Principled BSDF"].inputs["Emission Color"].default_value = (1, 0, 0, 1)
    material.node_tree.nodes["Principled BSDF"].inputs["Emission Strength"].default_value = 1
    bpy.context.object.data.materials.append(material)
    return bpy.context.object


@pytest.mark.parametrize("picture_format", ["png", "jpeg"])
def test_a_red_cube_makes_a_red_picture_and_nothing_is_left_behind(
    red_cube: bpy.types.Object, picture_format: picture.Format, tmp_path: object
) -> None:
    scene = bpy.context.scene
    before = (
        scene.render.engine,
        scene.render.filepath,
        scene.render.resolution_x,
        scene.camera,
        len(bpy.data.objects),
    )
    shot = picture.viewport(max_size=128, picture_format=picture_format)
    assert (max(shot.width, shot.height), shot.source, shot.mime_type) == (
        128,
        "render",
        f"image/{picture_format}",
    )
    red, green, blue = _mean_color(shot, tmp_path)
    assert red > 2 * green
    assert red > 2 * blue
    after = (
        scene.render.engine,
        scene.render.filepath,
        scene.render.resolution_x,
        scene.camera,
        len(bpy.data.objects),
    )
    assert after == before
    assert not bpy.data.cameras


def test_the_scenes_own_camera_is_used(red_cube: bpy.types.Object, tmp_path: object) -> None:
    bpy.ops.object.camera_add(location=(0, 0, 10), rotation=(3.14159, 0, 0))  # looks away from the cube
    bpy.context.scene.camera = bpy.context.object
    red, green, _ = _mean_color(picture.render(max_size=64, picture_format="png"), tmp_path)
    assert red == pytest.approx(green, abs=0.05)


def test_as_many_threads_as_asked_for_render_and_the_file_keeps_its_number(
    red_cube: bpy.types.Object,
) -> None:
    """Blender shows the file's number only where it counts, and it must not change either."""
    settings = bpy.context.scene.render
    settings.threads_mode = "FIXED"
    settings.threads = 3
    settings.threads_mode = "AUTO"
    seen: list[tuple[str, int]] = []

    def look(scene: bpy.types.Scene, *_: object) -> None:
        seen.append((scene.render.threads_mode, scene.render.threads))

    bpy.app.handlers.render_pre.append(look)
    try:
        picture.render(max_size=16, picture_format="png", threads=2)
    finally:
        bpy.app.handlers.render_pre.remove(look)
    assert seen == [("FIXED", 2)]
    assert settings.threads_mode == "AUTO"
    settings.threads_mode = "FIXED"
    assert settings.threads == 3


def test_without_cycles_the_error_says_what_to_do(empty_scene: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import addon_utils

    addon_utils.disable("cycles")
    try:
        with pytest.raises(ExternalServiceError, match="enable the add-on Cycles Render Engine"):
            picture.viewport(max_size=64, picture_format="png")
    finally:
        addon_utils.enable("cycles")


def test_a_picture_of_many_details_has_a_lower_quality_rather_than_more_bytes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noise = np.random.default_rng(1).random(256 * 256 * 4, dtype=np.float32)
    best = picture.encode(noise, 256, 256, "jpeg")
    monkeypatch.setattr(picture, "_AIM_BYTES", len(best) - 1)
    smaller = picture.encode(noise, 256, 256, "jpeg")
    monkeypatch.setattr(picture, "_AIM_BYTES", 1)
    least = picture.encode(noise, 256, 256, "jpeg")
    assert len(best) > len(smaller) > len(least)
    assert len(picture.encode(noise, 256, 256, "png")) > len(best)  # which cannot be had for less
    path = tmp_path / "best.jpg"
    path.write_bytes(best)
    shot = picture.Picture(picture.preview(path, 64), "image/jpeg", 64, 64, "render")
    assert len(shot.data) < len(least)
    _mean_color(shot, tmp_path)  # which looks at its size


def test_a_quick_render_of_many_details_is_small_too(
    red_cube: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(picture.render(max_size=128, picture_format="jpeg").data)
    monkeypatch.setattr(picture, "_AIM_BYTES", 1)
    assert len(picture.render(max_size=128, picture_format="jpeg").data) < before
    assert [image.name for image in bpy.data.images] == []
