# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that do something else in a script, and say so: an empty file, no picture, no waiting."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender.operators.instead import INSTEAD
from bl_ext.user_default.mcp_bridge.sandbox.facts import reasons
from bl_ext.user_default.mcp_bridge.sandbox.reference import rna
from bl_ext.user_default.mcp_bridge.sandbox.run import execute, validate

from support.sandboxing import sandbox_cases
from support.scenes import digest

pytestmark = pytest.mark.usefixtures("fresh_file")

_EMPTY = "bpy.ops.wm.read_factory_settings(use_empty=True)\n"


def run(code: str) -> dict[str, Any]:
    return execute.execute_blender_code({"code": code})


def _blocks() -> dict[str, list[str]]:
    kept = ("all_ids", "brushes", "screens", "workspaces", "window_managers", "palettes", "fonts")
    found = {
        prop.identifier: sorted(each.name for each in getattr(bpy.data, prop.identifier))
        for prop in bpy.data.bl_rna.properties
        if prop.type == "COLLECTION" and prop.identifier not in kept
    }
    return {name: names for name, names in found.items() if names}


def test_all_that_is_done_instead_is_said_by_validation() -> None:
    assert INSTEAD.keys() == reasons.instead_of().keys()
    index = rna.current()
    for idname in INSTEAD:
        found = validate.validate(f"bpy.ops.{idname}()", index)
        assert found.is_valid
        assert reasons.instead_of()[idname] in str(found.warnings[0])


def test_an_empty_file_has_one_scene_as_blender_makes_it() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    wanted, settings = _blocks(), _settings()
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    bpy.context.scene.render.resolution_x = 77
    bpy.data.scenes.new("Other")
    said = run(f"{_EMPTY}result = [len(bpy.data.objects), bpy.context.scene.name, len(bpy.data.scenes)]")
    assert said["result"] == [0, "Scene", 1]
    assert _blocks() == wanted
    assert _settings() == settings
    assert "emptied this file" in said["warnings"][0]


def _settings() -> dict[str, Any]:
    """The numbers, switches and choices of the scene, and of how it is rendered and shown."""
    scene = bpy.context.scene
    parts = (
        scene,
        scene.render,
        scene.eevee,
        scene.view_settings,
        scene.display_settings,
        scene.unit_settings,
    )
    curves = scene.view_settings.curve_mapping.curves
    return {"curves": [(tuple(each.location), each.select) for curve in curves for each in curve.points]} | {
        f"{type(part).__name__}.{prop.identifier}": getattr(part, prop.identifier)
        for part in parts
        for prop in part.bl_rna.properties
        if prop.type in ("INT", "BOOLEAN", "ENUM", "FLOAT")
        and not getattr(prop, "is_array", False)
        and prop.identifier not in ("session_uid", "users", "clamp_volume_indirect")
    }


def test_the_start_up_file_has_its_cube_camera_and_light() -> None:
    run("bpy.data.objects.remove(bpy.data.objects['Cube'])\nbpy.ops.wm.read_homefile(app_template='')")
    objects = bpy.data.objects
    assert sorted(objects.keys()) == ["Camera", "Cube", "Light"]
    assert [each.name for each in objects["Cube"].users_collection] == ["Collection"]
    assert len(objects["Cube"].data.vertices) == 8
    assert bpy.context.scene.camera == objects["Camera"]
    assert bpy.context.view_layer.objects.active == objects["Cube"]


def test_the_start_up_file_is_that_of_blender() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    wanted, shading = digest.scene(), _shading()
    bpy.data.objects["Cube"].data.vertices[0].co.x = 7.0
    bpy.data.objects["Light"].location.x = 7.0
    run("bpy.ops.wm.read_homefile()")
    found = digest.scene()
    different = {
        key for key in wanted.keys() | found.keys()
        if found.get(key) != wanted.get(key) and not key.startswith(("screens/", "workspaces/"))
    }  # fmt: skip
    assert different == set()
    assert _shading() == shading


def _shading() -> list[Any]:
    """The nodes of the material and of the world in their order, and the values of their sockets."""
    trees = bpy.data.materials["Material"].node_tree, bpy.data.worlds["World"].node_tree
    return [
        (node.name, node.bl_idname, [*node.location], node.select, [*map(_default, node.inputs)])
        for tree in trees
        for node in tree.nodes
    ] + [(link.from_node.name, link.to_socket.name) for tree in trees for link in tree.links]


def _default(socket: bpy.types.NodeSocket) -> tuple[str, Any]:
    value = getattr(socket, "default_value", None)
    return socket.name, [*value] if hasattr(value, "__len__") else value


def test_a_failure_brings_all_of_it_back() -> None:
    before = _blocks()
    bpy.context.scene.render.resolution_x = 77
    with pytest.raises(HandlerError):
        run(f"{_EMPTY}bpy.ops.mesh.primitive_monkey_add()\nraise ValueError")
    assert _blocks() == before
    assert bpy.context.scene.render.resolution_x == 77


@pytest.mark.parametrize("attack", sandbox_cases.undone(), ids=lambda attack: attack.id)
def test_one_undo_brings_back_what_the_user_had(attack: sandbox_cases.Attack) -> None:
    bpy.data.objects.new("UserWork", None)
    bpy.data.meshes.new("Unused").use_fake_user = True
    bpy.ops.ed.undo_push(message="the user's work")
    before = _blocks()
    run(attack.code)
    bpy.ops.ed.undo()
    assert _blocks() == before


def test_what_a_script_holds_of_the_old_file_says_that_it_is_gone() -> None:
    held = (
        "o = bpy.data.objects['Cube']\nv = o.data.vertices[0]\ns = bpy.context.scene\nm = o.data.materials[0]\n"
        "n = m.node_tree.nodes[0]\n"
    )
    for use in ("o.name", "v.co", "s.frame_end", "m.name", "n.name"):
        with pytest.raises(HandlerError, match="removed"):
            run(f"{held}{_EMPTY}print({use})")


def test_rendering_does_nothing_and_names_the_tool() -> None:
    said = run(
        "bpy.context.scene.render.filepath = '/tmp/never.png'\n"
        "result = sorted(bpy.ops.render.render(write_still=True))\n"
        "bpy.ops.render.render(animation=True)\nbpy.ops.render.opengl()"
    )
    assert said["result"] == ["CANCELLED"]
    warnings = " ".join(said["warnings"])
    for word in ("render.filepath stays", "render_image", "render_animation", "get_viewport_screenshot"):
        assert word in warnings
    assert bpy.context.scene.render.filepath != "/tmp/never.png"


def test_an_operator_that_would_ask_the_user_runs_at_once() -> None:
    said = run("bpy.ops.mesh.primitive_cube_add('INVOKE_DEFAULT')\nresult = len(bpy.data.objects)")
    assert said["result"] == 4
    assert "does not wait for the user" in said["warnings"][0]


@pytest.mark.parametrize(
    "purge", ["bpy.ops.outliner.orphans_purge(do_recursive=True)", "bpy.data.orphans_purge()"]
)
def test_what_nothing_uses_is_purged(purge: str) -> None:
    run(
        f"m = bpy.data.materials.new('Unused')\nk = bpy.data.materials.new('Kept')\nk.use_fake_user = True\n{purge}\n"
        "result = 0"
    )
    assert "Unused" not in bpy.data.materials
    assert "Kept" in bpy.data.materials
    with pytest.raises(HandlerError, match="removed"):
        run(f"m = bpy.data.materials.new('Unused')\n{purge}\nprint(m.name)")


def test_blocks_are_removed_together() -> None:
    run("bpy.data.batch_remove({bpy.data.objects['Cube'], bpy.data.meshes['Cube']})")
    assert "Cube" not in bpy.data.objects
    assert "Cube" not in bpy.data.meshes
    with pytest.raises(PolicyError, match="leave it out"):
        run("bpy.data.batch_remove([bpy.data.workspaces[0]])")
    with pytest.raises(PolicyError, match="leave it out"):
        run("bpy.data.batch_remove([bpy.context.scene])")


def test_a_copy_of_the_context_may_be_put_into_it() -> None:
    said = run(
        "override = bpy.context.copy()\noverride['selected_objects'] = list(bpy.context.scene.objects)\n"
        "with bpy.context.temp_override(**override) as inside:\n    inside.logging_set(True)\n"
        "    bpy.ops.object.delete()\nresult = len(bpy.data.objects)"
    )
    assert said["result"] == 0


def test_bpy_needs_no_import_and_another_module_says_that_it_does() -> None:
    assert run("bpy.ops.mesh.primitive_cube_add(size=2)\nresult = len(bpy.data.objects)")["result"] == 4
    assert run("def f():\n    import bpy\n    return 1\nresult = [f(), len(bpy.data.objects)]")["result"] == [
        1,
        4,
    ]
    for code, wanted in (
        ("x = math.pi", "import math"),
        ("def f():\n    return bmesh.new()\nf()", "import bmesh"),
        ("x = np.zeros(3)", "import numpy as np"),
        ("v = Vector((1, 2, 3))", "from mathutils import Vector"),
    ):
        with pytest.raises(HandlerError) as caught:
            run(code)
        assert f"write {wanted!r} first" in str(caught.value)


@pytest.mark.parametrize("module", "bpy.app.handlers bpy.utils.previews bpy_extras.image_utils".split())
def test_a_module_of_blenders_without_use_can_be_imported(module: str) -> None:
    assert run(f"import {module}\nbpy.context.scene.frame_end = 9\nresult = 1")["result"] == 1
    with pytest.raises(PolicyError, match=reasons.why_blender(module)[:20]):
        run(f"from {module} import anything")


@pytest.mark.parametrize("idname", ["screen.animation_play", "screen.screen_full_area", "wm.redraw_timer"])
def test_what_only_the_window_shows_is_not_done_and_the_result_says_so(idname: str) -> None:
    said = run(f"result = list(bpy.ops.{idname}())")
    assert said["result"] == ["FINISHED"]
    assert said["warnings"] == [f"bpy.ops.{idname}(): {reasons.instead_of()[idname]}"]


def test_a_script_that_looks_for_devices_to_render_with_goes_on() -> None:
    before = bpy.context.preferences.addons["cycles"].preferences.compute_device_type
    said = run(
        "addons = bpy.context.preferences.addons\nfound = addons['cycles'].preferences\n"
        "found.compute_device_type = 'CUDA'\nfound.get_devices()\n"
        "for device in found.devices:\n    device.use = True\n"
        "bpy.context.scene.cycles.device = 'GPU'\n"
        "result = ['cycles' in addons, addons.get('rigify'), found.has_active_device(), found.compute_device_type]"
    )
    assert said["result"] == [True, None, False, "NONE"]
    assert "Edit > Preferences > System" in said["warnings"][0]
    assert bpy.context.preferences.addons["cycles"].preferences.compute_device_type == before


@pytest.mark.parametrize(
    "code",
    [
        "bpy.context.preferences.view.show_splash = False",
        "bpy.context.preferences.edit",
        "[each for each in bpy.context.preferences.addons]",
        "bpy.context.preferences.addons.new()",
        "bpy.context.preferences.addons['cycles'].preferences.bl_rna",
        "bpy.context.preferences.addons['cycles'].preferences.use = 1",
    ],
)
def test_all_else_of_the_preferences_is_refused(code: str) -> None:
    with pytest.raises(PolicyError, match=r"preferences|cannot be set"):
        run(code)
    with pytest.raises(HandlerError, match="a script sees no preferences of the add-on 'rigify'"):
        run("bpy.context.preferences.addons['rigify'].preferences")


_CLOTH = """
bpy.ops.mesh.primitive_grid_add(x_subdivisions=4, y_subdivisions=4)
grid = bpy.context.object
cache = grid.modifiers.new("Cloth", "CLOTH").point_cache
cache.frame_end = 6
bpy.context.scene.frame_set(2)
"""
_FALLEN = (
    "bpy.context.scene.frame_set(6)\nshown = grid.evaluated_get(bpy.context.evaluated_depsgraph_get())\n"
    "result = [cache.is_baked, shown.data.vertices[0].co.z]"
)


@pytest.mark.parametrize(
    "bake",
    [
        "with bpy.context.temp_override(scene=bpy.context.scene, active_object=grid, point_cache=cache):\n"
        "    bpy.ops.ptcache.bake(bake=True)",
        "bpy.ops.ptcache.bake_all(bake=True)",
    ],
)
def test_a_simulation_is_baked_by_stepping_through_its_frames(bake: str) -> None:
    plain: dict[str, Any] = {"bpy": bpy}
    exec(f"{_CLOTH}{bake}\n{_FALLEN}", plain)
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    said = run(f"{_CLOTH}{bake}\nframe = bpy.context.scene.frame_current\n{_FALLEN}\nresult.append(frame)")
    assert said["result"] == [True, pytest.approx(plain["result"][1]), 2]
    assert plain["result"][0]
    assert plain["result"][1] < -0.01


def test_a_bake_without_a_cache_says_what_to_give() -> None:
    with pytest.raises(HandlerError, match=r"give temp_override\(point_cache=…\)"):
        run("bpy.ops.ptcache.bake(bake=True)")


def test_user_clear_only_warns() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    said = run(
        "cube = bpy.data.objects['Cube']\ncube.user_clear()\nresult = cube.users\nbpy.data.objects.remove(cube)"
    )
    assert said["result"] == 1
    assert "Cube" not in bpy.data.objects
    assert said["warnings"][0].startswith("user_clear() did nothing: Blender would crash where")
