# SPDX-License-Identifier: GPL-3.0-or-later
"""New data-blocks, and the line on each that a person wrote down."""

from __future__ import annotations

import textwrap
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene.changes.details import detail

#: `new` is what the line is about.
CASES: dict[str, tuple[str, str]] = {
    "wood": (
        """
        new = D.materials.new("Wood"); new.use_nodes = True
        shader = new.node_tree.nodes["Principled BSDF"]
        shader.inputs["Base Color"].default_value = (0.4, 0.2, 0.1, 1)
        shader.inputs["Roughness"].default_value = 0.6
        """,
        "base color 0.4 0.2 0.1, roughness 0.6",
    ),
    "a material as it is made": ("new = D.materials.new('Plain'); new.use_nodes = True", ""),
    "a material without nodes": (
        "new = D.materials.new('Red'); new.diffuse_color = (1, 0, 0, 1); new.use_nodes = False",
        "without nodes, color 1 0 0" if bpy.app.version < (5, 0) else "",
    ),
    "a texture in a material": (
        """
        new = D.materials.new("Rock"); new.use_nodes = True
        tree = new.node_tree
        noise = tree.nodes.new("ShaderNodeTexNoise")
        noise.inputs["Scale"].default_value = 12
        noise.noise_dimensions = "2D"
        tree.links.new(noise.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
        tree.nodes["Principled BSDF"].inputs["Metallic"].default_value = 1
        """,
        "3 nodes, metallic 1, base color from Noise Texture; Noise Texture: scale 12, noise dimensions 2D",
    ),
    "another shader": (
        """
        new = D.materials.new("Lamp"); new.use_nodes = True
        tree = new.node_tree
        tree.nodes.remove(tree.nodes["Principled BSDF"])
        glow = tree.nodes.new("ShaderNodeEmission")
        glow.inputs["Strength"].default_value = 25
        """,
        "Emission: strength 25",
    ),
    "a world": (
        """
        new = D.worlds.new("Sky"); new.use_nodes = True
        new.node_tree.nodes["Background"].inputs["Color"].default_value = (0.1, 0.2, 1, 1)
        """,
        "Background: color 0.1 0.2 1",
    ),
    "a group of geometry nodes": (
        """
        new = D.node_groups.new("Cubes", "GeometryNodeTree")
        cube = new.nodes.new("GeometryNodeMeshCube")
        cube.inputs["Size"].default_value = (1, 2, 3)
        """,
        "1 node, Cube: size 1 2 3",
    ),
    "an object": (
        """
        new = D.objects.new("Box", D.meshes["Cube"])
        new.location = (1, 2, 0.5); new.rotation_euler.z = 0.785398; new.parent = D.objects["Camera"]
        bevel = new.modifiers.new("Bevel", "BEVEL"); bevel.width = 0.02; bevel.segments = 3
        new.hide_render = True
        new["price"] = 12
        C.collection.objects.link(new)
        D.objects["Camera"].matrix_world.identity()
        C.view_layer.update()
        new.parent = None
        C.view_layer.update()
        """,
        "mesh, at (1, 2, 0.5), rotated (0°, 0°, 45°), size 2 × 2 × 2, material Material, "
        "modifier Bevel (width 0.02, segments 3), hidden in renders, custom property price 12",
    ),
    "a constraint": (
        """
        new = D.objects.new("Eye", None)
        new.constraints.new("TRACK_TO").target = D.objects["Cube"]
        """,
        "empty, at (0, 0, 0), constraint Track To (target Cube)",
    ),
    "a camera": (
        "new = D.cameras.new('Close'); new.lens = 85; new.dof.use_dof = True; new.dof.focus_distance = 3",
        "85 mm, in focus at 3",
    ),
    "a flat camera": (
        "new = D.cameras.new('Plan'); new.type = 'ORTHO'; new.ortho_scale = 20",
        "type ORTHO, ortho scale 20",
    ),
    "a lamp": (
        "new = D.lights.new('Warm', 'POINT'); new.energy = 60; new.color = (1, 0.8, 0.5)",
        "point, 60 W, color 1 0.8 0.5",
    ),
    "a spot": (
        "new = D.lights.new('Stage', 'SPOT'); new.energy = 500; new.spot_blend = 0.5",
        "spot, 500 W, spot blend 0.5",
    ),
    "the sun": ("new = D.lights.new('Sun', 'SUN'); new.energy = 3", "sun, strength 3"),
    "a curve": (
        "new = D.curves.new('Pipe', 'CURVE'); new.bevel_depth = 0.1; new.dimensions = '3D'",
        "dimensions 3D, bevel depth 0.1",
    ),
    "words": (
        "new = D.curves.new('Sign', 'FONT'); new.body = 'Open'; new.extrude = 0.05",
        "'Open', extrude 0.05",
    ),
    "an animation": (
        """
        cube = D.objects["Cube"]
        for frame in (1, 25):
            cube.keyframe_insert("location", frame=frame)
            cube.keyframe_insert("scale", index=2, frame=frame)
        new = cube.animation_data.action
        """,
        "frames 1 to 25, 8 keys, of location × 3, scale",
    ),
    "shape keys": (
        "cube = D.objects['Cube']; cube.shape_key_add(name='Basis'); cube.shape_key_add(name='Up'); new = cube.data",
        "8 vertices, 6 faces, shape keys Basis, Up",
    ),
    "a collection": (
        "new = D.collections.new('Set'); [new.objects.link(D.objects.new(f'o{n:02}', None)) for n in range(12)]",
        "12 objects: o00, o01, o02, o03, o04, o05, o06, o07 and 4 more",
    ),
    "a text": (
        "new = D.texts.new('Note'); new.write('\\nRemember the milk\\n')",
        "3 lines, beginning 'Remember the milk'",
    ),
    "an image": ("new = D.images.new('Map', 512, 256)", "512 × 256 pixels"),
    "bones": (
        """
        new = D.armatures.new("Rig"); rig = D.objects.new("Rig", new); C.collection.objects.link(rig)
        C.view_layer.objects.active = rig; bpy.ops.object.mode_set(mode="EDIT")
        for name in ("Hip", "Knee"): new.edit_bones.new(name).tail = (0, 0, 1)
        bpy.ops.object.mode_set(mode="OBJECT")
        """,
        "bones Hip, Knee",
    ),
    "a scene": ("new = D.scenes.new('Shot'); new.frame_end = 48", "frame end 48"),
    "nothing to say": ("new = D.palettes.new('Colors')", ""),
}


def _made(script: str) -> Any:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    names: dict[str, Any] = {"bpy": bpy, "C": bpy.context, "D": bpy.data}
    exec(textwrap.dedent(script), names)
    return names["new"]


@pytest.mark.parametrize("name", CASES)
def test_a_new_data_block_is_told_of_as_a_person_wrote_down(name: str) -> None:
    script, expected = CASES[name]
    assert detail(_made(script)) == expected


def test_of_many_nodes_the_first_ones_are_told() -> None:
    script = """
        new = D.node_groups.new("Sums", "GeometryNodeTree")
        for _ in range(10):
            new.nodes.new("ShaderNodeMath").inputs[1].default_value = 2
    """
    told = detail(_made(script))
    assert told.startswith("10 nodes, Math: value 2 2; Math.001: value 2 2; ")
    assert told.endswith("Math.007: value 2 2 and 2 more")


def test_a_large_tree_is_only_counted() -> None:
    new = _made(
        "new = D.node_groups.new('Many', 'GeometryNodeTree')\nfor _ in range(100): new.nodes.new('ShaderNodeMath')"
    )
    assert detail(new) == "100 nodes"


def test_looking_leaves_nothing_behind() -> None:
    new = _made(CASES["wood"][0])
    before = len(bpy.data.node_groups)
    detail(new)
    assert len(bpy.data.node_groups) == before


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "on"),
        (0.1 + 0.2, "0.3"),
        (1e-7, "1e-07"),
        (2e9, "2e+09"),
        ([1.0, 0.0, 0.0, 0.5], "1 0 0 0.5"),
        ([1.0, 0.5, 0.0, 1.0], "1 0.5 0"),
        ({"a": 1}, "changed"),
        ([1] * 5, "changed"),
        ("x" * 50, "x" * 40 + "…"),
        (-0.0, "0"),
        (None, "None"),
    ],
)
def test_values_are_shown_in_few_letters(value: Any, shown: str) -> None:
    from bl_ext.user_default.mcp_bridge.scene.changes import details

    assert details._short(value) == shown
