# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the open file like Blender's own start-up file: one scene with a cube, a light and a camera.

A script that reads the start-up file begins with it. Reading it would end the user's session, so the open file gets the
same contents. `facts/start_up.json` has what differs from new data-blocks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import bpy

from ....scene.override import pausing_override

__all__ = ("empty", "fill")

_KEPT: Final = frozenset(
    "all_ids brushes fonts palettes paint_curves scenes screens window_managers workspaces".split()
)
"""Collections of `bpy.data` that belong to the session, the collection of scenes, and that of all data-blocks."""
_RENDERS: Final = frozenset({"RENDER_RESULT", "COMPOSITING"})
"""The types of images that Blender makes for its renders; a script can only copy them."""
_SAMPLING: Final = "TABULATED_SOBOL" if bpy.app.version < (5, 1) else "AUTOMATIC"
_SCENE: Final[tuple[tuple[str, str, Any], ...]] = (
    ("", "sync_mode", "NONE"),
    ("render", "simplify_subdivision_render", 6),
    ("render", "simplify_child_particles_render", 1.0),
    ("render", "use_stamp_memory", False),
    ("eevee", "clamp_volume_indirect", 1e-8),
    ("eevee", "use_fast_gi", True),
    ("eevee", "use_shadows", True),
    ("eevee", "use_volume_custom_range", bpy.app.version < (5, 0)),
    ("view_settings", "use_curve_mapping", False),
    ("view_settings", "view_transform", "AgX"),
    ("view_settings", "white_balance_temperature", 6500.0),
    ("view_settings", "white_balance_tint", 10.0),
    *((("cycles", "sampling_pattern", _SAMPLING),) if bpy.app.version >= (5, 0) else ()),
)
"""Settings that differ between a new scene and that of the start-up file."""


_FACTS: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "facts" / "start_up.json").read_text("utf-8")
)


def empty(*, keep_renders: bool) -> None:
    """Remove everything but one new scene; `keep_renders`: and the images of Blender's own renders."""
    scene = bpy.data.scenes.new("Scene")
    for window in bpy.context.window_manager.windows:
        window.scene = scene
    others = [each for each in bpy.data.scenes if each != scene]
    for other in others:
        bpy.data.scenes.remove(other)
    # the first image of each type: any other is a copy
    renders = {image.type: image for image in reversed(bpy.data.images) if image.type in _RENDERS}
    kept = {*renders.values()} if keep_renders else ()
    bpy.data.batch_remove(
        block
        for prop in bpy.data.bl_rna.properties
        if prop.type == "COLLECTION" and prop.identifier not in _KEPT
        for block in getattr(bpy.data, prop.identifier)
        if block not in kept
    )
    scene.name = "Scene"
    scene.view_settings.use_curve_mapping = True  # creates the curves, which stay
    for curve in scene.view_settings.curve_mapping.curves:
        for point in curve.points:
            point.select = False
    for owner, name, value in _SCENE:
        _set(getattr(scene, owner, None) if owner else scene, name, value)


def fill() -> None:
    """Add what the start-up file has in its scene."""
    scene, data = bpy.context.scene, bpy.data
    collection = data.collections.new("Collection")
    scene.collection.children.link(collection)
    scene.world = data.worlds.new("World")
    bpy.context.view_layer.freestyle_settings.linesets.new("LineSet")  # makes the line style, too
    material, dots = data.materials.new("Material"), _dots()
    for each in (material, dots):
        each.use_backface_culling_lightprobe_volume = bpy.app.version < (5, 0)
    for shaded in (scene.world, material):
        shaded.use_nodes = True
        _put_output_first(shaded.node_tree)
    inputs = scene.world.node_tree.nodes["Background"].inputs
    inputs["Color"].default_value = (*_FACTS["settings"]["worlds"]["World"]["color"], 1.0)
    if bpy.app.version < (5, 0):
        material.node_tree.nodes["Principled BSDF"].inputs["IOR"].default_value = 1.45
    cube = data.objects.new("Cube", _cube())
    cube.data.materials.append(material)
    light = data.objects.new("Light", data.lights.new("Light", "POINT"))
    if light.data.node_tree is not None:
        _put_output_first(light.data.node_tree)
        light.data.node_tree.nodes["Light Output"].location.x = 80.0
    camera = data.objects.new("Camera", data.cameras.new("Camera"))
    for made in (cube, light, camera):
        collection.objects.link(made)
        _add_physics(made)
    for kind, blocks in _FACTS["settings"].items():
        for name, settings in blocks.items():
            for path, value in settings.items():
                _set(getattr(data, kind)[name], path, value)
    scene.camera = camera
    cube.select_set(True)
    bpy.context.view_layer.objects.active = cube


def _dots() -> Any:
    """Return the material for strokes. Blender 5 has converted its unused shader into nodes with a label."""
    material: Any = bpy.data.materials.new("Dots Stroke")
    bpy.data.materials.create_gpencil_data(material)
    for name, value in _DOTS.items():
        _set(material.grease_pencil, name, value)
    material.roughness = 0.5
    if bpy.app.version >= (5, 0):
        nodes = material.node_tree.nodes
        nodes.clear()
        frame = nodes.new("NodeFrame")
        frame.label, frame.width = "Versioning: Use Nodes was removed", 150.0
        for kind, place, width in _NODES_OF_DOTS:
            node = nodes.new(kind)
            node.parent, node.location, node.width = frame, place, width
        _, first, principled, second, diffuse = nodes
        for shader, output, target in ((principled, first, "EEVEE"), (diffuse, second, "CYCLES")):
            output.target = target
            material.node_tree.links.new(shader.outputs["BSDF"], output.inputs["Surface"])
    return material


_DOTS: Final[dict[str, Any]] = {"mode": "DOTS", "show_stroke": True}
if bpy.app.version >= (5, 2):
    _DOTS.update(fill_color=(0.0, 0.0, 0.0, 0.0), placement_mode="COUNT")
_NODES_OF_DOTS: Final = (
    ("ShaderNodeOutputMaterial", (200.0, 100.0), 140.0),
    ("ShaderNodeBsdfPrincipled", (-200.0, 100.0), 240.0),
    ("ShaderNodeOutputMaterial", (200.0, 100.0), 140.0),
    ("ShaderNodeBsdfDiffuse", (0.0, 0.0), 150.0),
)


def _cube() -> bpy.types.Mesh:
    """Return a mesh with the start-up cube's order of vertices, edges and faces: a cube's operator has another."""
    facts = _FACTS["cube"]
    mesh = bpy.data.meshes.new("Cube")
    mesh.from_pydata(facts["vertices"], facts["edges"], facts["faces"])
    layer = mesh.uv_layers.new(name="UVMap", do_init=False)
    layer.data.foreach_set("uv", [number for corner in facts["uv"] for number in corner])
    mesh.edges.foreach_set("vertices", [corner for edge in facts["edges"] for corner in edge])  # were sorted
    mesh.edges.foreach_set("select", [True] * len(facts["edges"]))
    if bpy.app.version >= (5, 0):
        attributes: Any = mesh.attributes
        for domain, part in (("FACE", "face"), ("CORNER", "vert"), ("CORNER", "edge")):
            attributes.new(f".uv_select_{part}", "BOOLEAN", domain)
    mesh.update()
    return mesh


def _add_physics(made: Any) -> None:
    """Give an object settings of physics, all of them off: an old Blender has stored these in the start-up file."""
    with pausing_override(object=made, active_object=made):
        bpy.ops.object.forcefield_toggle()
    made.field.type, made.field.wind_factor = "NONE", 1.0
    if made.collision is not None:
        made.collision.use_culling = False


def _put_output_first(tree: Any) -> None:
    """Make the two nodes of a new tree anew: in the start-up file, the output is the first node."""
    shader, output = sorted(tree.nodes, key=lambda node: bool(node.outputs), reverse=True)
    made = []
    for old in (output, shader):
        new = tree.nodes.new(old.bl_idname)
        new.location, new.width = old.location, old.width
        made.append(new)
    names = [old.name for old in (output, shader)]
    tree.nodes.remove(output)
    tree.nodes.remove(shader)
    for new, name in zip(made, names, strict=True):
        new.name, new.select = name, True
    tree.links.new(made[1].outputs[0], made[0].inputs["Surface"])
    tree.nodes.active = made[1]


def _set(owner: Any, path: str, value: Any) -> None:
    """Set a value by its data path, if this Blender has it."""
    *inside, name = path.split(".")
    for part in inside:
        owner = getattr(owner, part, None)
    if hasattr(owner, name):
        setattr(owner, name, value)
