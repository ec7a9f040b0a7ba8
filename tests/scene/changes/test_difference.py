# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts and what they change, written down by hand: a line for each data-block and value.

Each runs in Blender's factory scene: Cube with Material, Light, Camera in the collection Collection.
"""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene.changes import difference
from bl_ext.user_default.mcp_bridge.scene.changes.difference import Difference

PRINCIPLED = "node_tree.nodes['Principled BSDF']"

CASES: dict[str, tuple[str, list[str]]] = {
    "transform": (
        "D.objects['Cube'].location = (1, 2, 3); D.objects['Cube'].rotation_euler.z = 0.5",
        [
            "Object Cube: location [0.0, 0.0, 0.0] -> [1.0, 2.0, 3.0]",
            "Object Cube: rotation_euler [0.0, 0.0, 0.0] -> [0.0, 0.0, 0.5]",
        ],
    ),
    "add a mesh object": (
        "bpy.ops.mesh.primitive_cube_add(size=1, location=(0, 0, 2))",
        [
            "+ Mesh Cube.001 (8 vertices, 6 faces)",
            "+ Object Cube.001 (mesh, at (0, 0, 2), size 1 × 1 × 1)",
            "Collection Collection: objects: + Cube.001",
        ],
    ),
    "remove an object": (
        "D.objects.remove(D.objects['Light'])",
        ["- Object Light", "Collection Collection: objects: − Light"],
    ),
    "rename an object that others refer to": (
        "D.objects['Camera'].name = 'Main Camera'",
        ["Object Main Camera: name 'Camera' -> 'Main Camera'"],
    ),
    "socket value": (
        f"D.materials['Material'].{PRINCIPLED}.inputs['Roughness'].default_value = 0.25",
        [f"Material Material: {PRINCIPLED}.inputs['Roughness'].default_value 0.5 -> 0.25"],
    ),
    "node added and linked": (
        """
        tree = D.materials['Material'].node_tree
        noise = tree.nodes.new('ShaderNodeTexNoise')
        tree.links.new(noise.outputs['Color'], tree.nodes['Principled BSDF'].inputs['Base Color'])
        """,
        [
            "Material Material: + node_tree.links[Noise Texture.Color → Principled BSDF.Base Color] 'NodeLink'",
            "Material Material: + node_tree.nodes['Noise Texture'] 'Noise Texture'",
        ],
    ),
    "new material assigned": (
        """
        material = D.materials.new('Red'); material.use_nodes = True
        D.objects['Cube'].data.materials[0] = material
        """,
        [
            "+ Material Red",
            "Mesh Cube: materials: + Red, − Material",
            "Object Cube: material_slots[0].material 'Material' -> 'Red'",
        ],
    ),
    "modifier added": (
        "m = D.objects['Cube'].modifiers.new('Soft', 'BEVEL'); m.width = 0.25; m.segments = 4",
        ["Object Cube: + modifiers['Soft'] 'Bevel modifier' (width 0.25, segments 4)"],
    ),
    "modifier setting": (
        "SETUP: D.objects['Cube'].modifiers.new('Sub', 'SUBSURF')\nD.objects['Cube'].modifiers['Sub'].levels = 3",
        ["Object Cube: modifiers['Sub'].levels 1 -> 3"],
    ),
    "modifier removed": (
        "SETUP: D.objects['Cube'].modifiers.new('Sub', 'SUBSURF')\nD.objects['Cube'].modifiers.clear()",
        ["Object Cube: - modifiers['Sub'] 'Subsurf modifier'"],
    ),
    "constraint": (
        "c = D.objects['Camera'].constraints.new('TRACK_TO'); c.target = D.objects['Cube']",
        ["Object Camera: + constraints['Track To'] 'Track To constraint' (target Cube)"],
    ),
    "parent": (
        "D.objects['Camera'].parent = D.objects['Cube']",
        ["Object Camera: parent None -> 'Cube'"],
    ),
    "custom property added": ("D.objects['Cube']['height'] = 2.5", ["Object Cube: + ['height'] 2.5"]),
    "custom property changed and removed": (
        "SETUP: D.scenes[0]['a'] = 1; D.scenes[0]['b'] = [1, 2]\nD.scenes[0]['a'] = 'x'; del D.scenes[0]['b']",
        ["Scene Scene: ['a'] 1 -> 'x'", "Scene Scene: - ['b'] [1, 2]"],
    ),
    "scene settings": (
        "s = D.scenes[0]; s.frame_end = 48; s.render.fps = 30; s.render.resolution_x = 800; s.gravity.z = 0",
        [
            "Scene Scene: frame_end 250 -> 48",
            "Scene Scene: gravity [0.0, 0.0, -9.81] -> [0.0, 0.0, 0.0]",
            "Scene Scene: render.fps 24 -> 30",
            "Scene Scene: render.resolution_x 1920 -> 800",
        ],
    ),
    "scene camera": ("D.scenes[0].camera = None", ["Scene Scene: camera 'Camera' -> None"]),
    "vertices moved": (
        "for v in D.meshes['Cube'].vertices: v.co.z *= 2",
        ["Mesh Cube: extent [2.0, 2.0, 2.0] -> [2.0, 2.0, 4.0]", "Mesh Cube: positions: changed"],
    ),
    "faces added by bmesh": (
        """
        import bmesh
        mesh = D.meshes['Cube']; bm = bmesh.new(); bm.from_mesh(mesh)
        bmesh.ops.poke(bm, faces=bm.faces[:1]); bm.to_mesh(mesh); bm.free()
        """,
        [
            "Mesh Cube: edges 12 -> 16",
            "Mesh Cube: faces 6 -> 9",
            "Mesh Cube: material assignment: changed",
            "Mesh Cube: positions: changed",
            "Mesh Cube: uv_layers['UVMap'] coordinates: changed",
            "Mesh Cube: vertices 8 -> 9",
        ],
    ),
    "shade smooth": (
        "for p in D.meshes['Cube'].polygons: p.use_smooth = True",
        ["Mesh Cube: smooth faces 0 -> 6"],
    ),
    "collection": (
        """
        c = D.collections.new('Props'); D.scenes[0].collection.children.link(c)
        c.objects.link(D.objects['Cube']); D.collections['Collection'].objects.unlink(D.objects['Cube'])
        """,
        [
            "+ Collection Props (1 object: Cube)",
            "Collection Collection: objects: − Cube",
            "Scene Scene: collection.children: + Props",
        ],
    ),
    "light": (
        "light = D.lights['Light']; light.energy = 50; light.color = (1, 0.5, 0)",
        ["Light Light: color [1.0, 1.0, 1.0] -> [1.0, 0.5, 0.0]", "Light Light: energy 1000.0 -> 50.0"],
    ),
    "camera": ("D.cameras['Camera'].lens = 85", ["Camera Camera: lens 50.0 -> 85.0"]),
    "world": (
        "D.worlds['World'].node_tree.nodes['Background'].inputs['Strength'].default_value = 2",
        ["World World: node_tree.nodes['Background'].inputs['Strength'].default_value 1.0 -> 2.0"],
    ),
    "keyframe on a new action": (
        "D.objects['Cube'].keyframe_insert('location', frame=10)",
        [
            "+ Action CubeAction (frames 10 to 10, 3 keys, of location × 3)",
            "Object Cube: + animation_data 'Animation Data' (action CubeAction)",
        ],
    ),
    "keyframe moved": (
        """
        SETUP: D.objects['Cube'].keyframe_insert('location', index=0, frame=10)
        action = D.actions['CubeAction']
        new = not hasattr(action, 'fcurves')
        curves = action.layers[0].strips[0].channelbags[0].fcurves if new else action.fcurves
        curves[0].keyframe_points[0].co.y = 3
        """,
        [
            "Action CubeAction: fcurves[location[0]].keyframe_points[frame 10].co [10.0, 0.0] -> [10.0, 3.0]",
            "Object Cube: location [0.0, 0.0, 0.0] -> [3.0, 0.0, 0.0]",  # the animation holds it there
        ],
    ),
    "shape key": (
        """
        SETUP: D.objects['Cube'].shape_key_add(name='Basis'); D.objects['Cube'].shape_key_add(name='Up').value = 0
        D.objects['Cube'].data.shape_keys.key_blocks['Up'].value = 0.5
        """,
        ["Key of Cube: key_blocks['Up'].value 0.0 -> 0.5"],
    ),
    "image pixels": (
        """
        SETUP: D.images.new('Map', 4, 4).use_fake_user = True
        D.images['Map'].pixels = [1.0] * 64
        """,
        ["Image Map: pixels: changed"],
    ),
    "hidden in renders": ("D.objects['Cube'].hide_render = True", ["Object Cube: hide_render False -> True"]),
    "nothing": ("x = D.objects['Cube'].location.copy(); x.z = 5", []),
    "selection is nobody's business": ("bpy.ops.object.select_all(action='DESELECT')", []),
    "there and back": ("D.objects['Cube'].location.x = 5; D.objects['Cube'].location.x = 0", []),
}


def _lines(found: Difference) -> list[str]:
    """The difference in the notation of CASES."""
    lines = []
    for sign, blocks in (("+", found["added"]), ("-", found["removed"])):
        for block in blocks:
            detail = f" ({block['detail']})" if block.get("detail") else ""
            lines.append(f"{sign} {block['kind']} {block['name']}{detail}")
    for block in found["changed"]:
        lines += [f"{block['kind']} {block['name']}: {_change(change)}" for change in block["changes"]]
    return lines


def _change(change: Any) -> str:
    # Since Blender 4.4 the curves of an action lie in layers.
    name = re.sub(r"^layers\[.*?\.channelbags\[\d+\]\.", "", change["property"])
    note = change.get("note", "")
    if "before" in change and "after" in change:
        return f"{name} {change['before']!r} -> {change['after']!r}"
    if "after" in change:
        return f"+ {name} {change['after']!r}" + (f" ({note})" if note else "")
    return f"- {name} {change['before']!r}" if "before" in change else f"{name}: {note}"


def _difference(script: str, folder: Path) -> Difference:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    lines = textwrap.dedent(script).strip().splitlines()
    names = {"bpy": bpy, "D": bpy.data}
    if lines[0].startswith("SETUP: "):
        exec(lines.pop(0).removeprefix("SETUP: "), names)
    bpy.ops.ed.undo_push(message="before")
    before = difference.mark(folder / "before.blend")
    exec("\n".join(lines), names)
    bpy.ops.ed.undo_push(message="after")
    after = difference.mark(folder / "after.blend")
    return difference.compare(before, after, lambda: bpy.ops.ed.undo())


@pytest.mark.parametrize("name", CASES)
def test_the_difference_is_what_a_person_wrote_down(name: str, tmp_path: Path) -> None:
    script, expected = CASES[name]
    found = _difference(script, tmp_path)
    assert sorted(_lines(found)) == sorted(expected)
    assert found["left_out"] == {}
    json.dumps(found, allow_nan=False)


def test_totals_tell_what_was_counted_and_differs(tmp_path: Path) -> None:
    found = _difference("bpy.ops.mesh.primitive_uv_sphere_add(segments=8, ring_count=4)", tmp_path)
    assert found["totals"] == {"objects": [3, 4], "meshes": [1, 2], "vertices": [8, 34], "faces": [6, 38]}


def test_differences_above_the_limit_are_counted(tmp_path: Path) -> None:
    script = "for n in range(300): D.meshes.new(f'm{n:03}')"
    found = _difference(script, tmp_path)
    assert len(found["added"]) == 200
    assert found["left_out"] == {"added": 100}


def test_a_data_block_with_very_many_changes_is_cut_short(tmp_path: Path) -> None:
    script = "for n in range(200): D.objects['Cube'][f'p{n:03}'] = n"
    found = _difference(script, tmp_path)
    assert len(found["changed"][0]["changes"]) == 60
    assert found["left_out"] == {"values": 140}


@pytest.mark.parametrize(
    ("name", "ends"),
    [("o{:03}", "+ o018, + o019 and 380 more"), ("a very long name for an object {:03}", "…")],
)
def test_a_long_list_of_names_is_cut_to_what_a_report_can_hold(name: str, ends: str, tmp_path: Path) -> None:
    script = f"for n in range(400): D.collections[0].objects.link(D.objects.new({name!r}.format(n), None))"
    found = _difference(script, tmp_path)
    [collection] = [block for block in found["changed"] if block["kind"] == "Collection"]
    [change] = collection["changes"]
    assert change["note"].endswith(ends)
    assert len(change["note"]) <= 501


def test_values_before_are_read_without_evaluating_the_whole_scene(tmp_path: Path) -> None:
    evaluated: list[str] = []

    def note(_scene: object, depsgraph: bpy.types.Depsgraph) -> None:
        evaluated.extend(update.id.name for update in depsgraph.updates)

    bpy.ops.wm.read_homefile(use_factory_startup=True)
    bpy.ops.ed.undo_push(message="before")
    before = difference.mark(tmp_path / "before.blend")
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.ed.undo_push(message="after")
    after = difference.mark(tmp_path / "after.blend")
    bpy.app.handlers.depsgraph_update_post.append(note)
    try:
        found = difference.compare(before, after, lambda: bpy.ops.ed.undo())
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(note)
    assert found["totals"]["objects"] == [3, 4]
    assert "Cube" not in evaluated
