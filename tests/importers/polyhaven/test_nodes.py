# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders of an imported material and of an imported HDRI, compared with nodes that are built by hand here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.importers.polyhaven import importing, planning
from bl_ext.user_default.mcp_bridge.importers.work import Work

from support.clients.tool_calls import on_worker
from support.services import assets
from support.services.polyhaven import BRICK, SKY, PolyHavenServer

pytestmark = pytest.mark.usefixtures("empty_scene")

SIZE = 24


def render(path: Path) -> list[float]:
    """The picture's pixels, as Cycles makes them with few samples and a fixed seed."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 8
    scene.cycles.use_denoising = False
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x = scene.render.resolution_y = SIZE
    scene.render.image_settings.file_format = "PNG"
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(path))
    pixels = list(image.pixels)
    bpy.data.images.remove(image)
    return pixels


def differ(one: list[float], other: list[float]) -> float:
    """The mean difference of two pictures, 0 to 1."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)


def stage(*, plane: bool) -> Any:
    """A camera that looks down, over a plane of 1 m with a lamp, or at the sky; gives the plane."""
    scene = bpy.context.scene
    bpy.ops.object.camera_add(location=(0, 0, 1.2), rotation=(0, 0, 0) if plane else (1.2, 0, 0.6))
    scene.camera = bpy.context.object
    if not plane:
        return None
    bpy.ops.object.light_add(type="SUN", location=(0, 0, 3), rotation=(0.6, 0.3, 0))
    bpy.ops.mesh.primitive_plane_add(size=1)
    return bpy.context.object


def half_picture(
    folder: Path, name: str, left: tuple[float, ...], right: tuple[float, ...], kind: str
) -> Path:
    """A picture with two halves, so that scale and direction show."""
    path = assets.picture(folder, name, left, kind, 16)
    image = bpy.data.images.load(str(path))
    image.colorspace_settings.name = "Non-Color"
    image.pixels = [
        value for _ in range(16) for x in range(16) for value in (*(left if x < 8 else right), 1.0)
    ]
    image.file_format = kind
    image.filepath_raw = str(path)
    image.save()
    bpy.data.images.remove(image)
    return path


def by_hand(tree: Any, path: Path, *, data: bool, scale: float) -> Any:
    """A picture node whose UVs are scaled, built without our code; its colour."""
    coordinates, mapping, picture = (
        tree.nodes.new(kind) for kind in ("ShaderNodeTexCoord", "ShaderNodeMapping", "ShaderNodeTexImage")
    )
    mapping.inputs["Scale"].default_value = (scale,) * 3
    picture.image = bpy.data.images.load(str(path))
    if data:
        picture.image.colorspace_settings.name = "Non-Color"
    tree.links.new(coordinates.outputs["UV"], mapping.inputs["Vector"])
    tree.links.new(mapping.outputs["Vector"], picture.inputs["Vector"])
    return picture.outputs["Color"]


def test_a_material_looks_as_built_by_hand(work: Work, server: PolyHavenServer, tmp_path: Path) -> None:
    maps = {
        "Diffuse": half_picture(tmp_path, "colour", (0.8, 0.2, 0.1), (0.1, 0.3, 0.8), "PNG"),
        "Rough": half_picture(tmp_path, "rough", (0.2,) * 3, (0.9,) * 3, "PNG"),
        "nor_gl": half_picture(tmp_path, "normal", (0.7, 0.5, 0.95), (0.3, 0.6, 0.95), "PNG"),
    }
    server.files[BRICK] = {
        key: {"1k": {"png": server.add_file(f"/dl/{path.name}", path.read_bytes())}}
        for key, path in maps.items()
    }
    plane = stage(plane=True)

    def set_texture() -> Any:
        plan = planning.plan(work, BRICK)
        return importing.texture_object(work, plan, plan.asset, plane.name, None)

    on_worker(set_texture)
    ours = render(tmp_path / "ours.png")

    material = bpy.data.materials.new("by hand")
    material.use_nodes = True
    tree = material.node_tree
    shader = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
    normal = tree.nodes.new("ShaderNodeNormalMap")
    tree.links.new(by_hand(tree, maps["Diffuse"], data=False, scale=2), shader.inputs["Base Color"])
    tree.links.new(by_hand(tree, maps["Rough"], data=True, scale=2), shader.inputs["Roughness"])
    tree.links.new(by_hand(tree, maps["nor_gl"], data=True, scale=2), normal.inputs["Color"])
    tree.links.new(normal.outputs["Normal"], shader.inputs["Normal"])
    plane.material_slots[0].material = material
    reference = render(tmp_path / "reference.png")
    assert differ(ours, reference) < 0.002, "1 m of a texture of 0.5 m, lit alike"

    tree.links.remove(shader.inputs["Normal"].links[0])
    assert differ(ours, render(tmp_path / "flat.png")) > 0.01, "a lost normal map would show"


def test_an_hdri_looks_as_built_by_hand(work: Work, server: PolyHavenServer, tmp_path: Path) -> None:
    path = half_picture(tmp_path, "sky", (2.0, 0.5, 0.2), (0.05, 0.2, 0.6), "HDR")
    server.files[SKY] = {"hdri": {"1k": {"hdr": server.add_file("/dl/sky.hdr", path.read_bytes())}}}
    stage(plane=False)
    on_worker(lambda: importing.run(work, planning.plan(work, SKY)))
    ours = render(tmp_path / "ours.png")

    world = bpy.data.worlds.new("by hand")
    world.use_nodes = True
    picture = world.node_tree.nodes.new("ShaderNodeTexEnvironment")
    picture.image = bpy.data.images.load(str(path))
    background = next(node for node in world.node_tree.nodes if node.type == "BACKGROUND")
    world.node_tree.links.new(picture.outputs["Color"], background.inputs["Color"])
    bpy.context.scene.world = world
    assert differ(ours, render(tmp_path / "reference.png")) < 0.002

    background.inputs["Strength"].default_value = 0.5
    assert differ(ours, render(tmp_path / "dim.png")) > 0.01
