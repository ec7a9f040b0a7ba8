# SPDX-License-Identifier: GPL-3.0-or-later
"""The roll-back is exact in every combination of modes, and never takes the user's edits away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.run.undo import (
    UndoFailed,
    UndoStep,
    compare,
    digest,
    forget_witness,
    require_undo,
    take_back,
)
from bl_ext.user_default.mcp_bridge.scene import events

MODES = ("OBJECT", "EDIT", "SCULPT", "VERTEX_PAINT", "WEIGHT_PAINT", "TEXTURE_PAINT")


@pytest.fixture(autouse=True)
def _default_scene() -> Iterator[None]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    yield
    bpy.context.preferences.edit.use_global_undo = True
    bpy.context.preferences.edit.undo_steps = 32


@pytest.fixture
def watching() -> Iterator[None]:
    """The scene's changes are counted, as while the bridge runs."""
    already = events.watching()
    events.register()
    events.settled()
    yield
    if not already:
        events.unregister()


def state() -> tuple[object, ...]:
    """What the test compares, read in object mode so that edit meshes are flushed."""
    mode = bpy.context.object.mode
    bpy.ops.object.mode_set(mode="OBJECT")
    cube = bpy.data.objects["Cube"]
    seen = (
        sorted(bpy.data.objects.keys()),
        tuple(cube.location),
        [tuple(v.co) for v in cube.data.vertices],
        len(cube.data.polygons),
        [m.name for m in cube.data.materials],
    )
    bpy.ops.object.mode_set(mode=mode)
    return seen


def harm() -> None:
    bpy.ops.object.mode_set(mode="OBJECT")
    cube = bpy.data.objects["Cube"]
    cube.location.y = 9
    cube.data.vertices[0].co.x = 55
    cube.data.materials.clear()
    bpy.ops.mesh.primitive_monkey_add()


@pytest.mark.parametrize("users", MODES)
@pytest.mark.parametrize("scripts", MODES)
def test_roll_back_is_exact(users: str, scripts: str) -> None:
    bpy.data.objects["Cube"].location.x = 7  # an edit that no undo step has yet
    bpy.ops.object.mode_set(mode=users)
    if users == "EDIT":
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
    before = state()
    step = UndoStep("test")
    step.begin()
    assert bpy.context.object.mode == users
    harm()
    bpy.ops.object.mode_set(mode=scripts)
    if scripts == "EDIT":
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
    step.roll_back()
    assert bpy.context.object.name == "Cube"
    assert bpy.context.object.mode == users
    assert state() == before


def test_redo_does_not_bring_the_failed_state_back() -> None:
    step = UndoStep("test")
    step.begin()
    harm()
    step.roll_back()
    assert not bpy.ops.ed.redo.poll()


def test_one_undo_takes_a_request_back() -> None:
    before = state()
    step = UndoStep("A title")
    step.begin()
    harm()
    step.commit()
    bpy.ops.ed.undo()
    assert state() == before
    bpy.ops.ed.redo()
    assert "Suzanne" in bpy.data.objects


def commit(title: str, location: float) -> None:
    step = UndoStep(title)
    step.begin()
    bpy.data.objects["Cube"].location.x = location
    step.commit()


def test_requests_that_follow_each_other_are_one_step_each(watching: None) -> None:
    places = [1.0, 2.0, 3.0]
    for place in places:
        commit("A title with more letters than Blender keeps: äöü äöü äöü äöü äöü", place)
    for place in reversed(places):
        assert bpy.data.objects["Cube"].location.x == place
        bpy.ops.ed.undo()
    assert bpy.data.objects["Cube"].location.x == 0.0
    for place in places:
        bpy.ops.ed.redo()
        assert bpy.data.objects["Cube"].location.x == place


def test_what_no_step_has_stays_when_the_request_after_it_is_undone(watching: None) -> None:
    commit("first", 1.0)
    bpy.data.objects["Camera"].location.x = 77.0  # without a window Blender makes no step of this
    commit("second", 2.0)
    bpy.ops.ed.undo()
    assert bpy.data.objects["Cube"].location.x == 1.0
    assert bpy.data.objects["Camera"].location.x == 77.0


def test_a_request_that_failed_leaves_one_step_that_changes_nothing(watching: None) -> None:
    commit("first", 1.0)
    step = UndoStep("second")
    step.begin()
    harm()
    step.roll_back()
    assert bpy.data.objects["Cube"].location.x == 1.0
    bpy.ops.ed.undo()
    assert bpy.data.objects["Cube"].location.x == 1.0
    bpy.ops.ed.undo()
    assert bpy.data.objects["Cube"].location.x == 0.0


def test_commit_in_edit_mode_records_objects_too() -> None:
    step = UndoStep("x")
    step.begin()
    bpy.data.objects["Cube"].location.z = 3
    bpy.ops.object.mode_set(mode="EDIT")
    step.commit()
    assert bpy.context.mode == "EDIT_MESH"
    bpy.ops.ed.undo()
    assert bpy.data.objects["Cube"].location.z == 0
    bpy.ops.ed.redo()
    assert bpy.data.objects["Cube"].location.z == 3


def test_edit_mode_of_several_objects_is_entered_again() -> None:
    bpy.ops.mesh.primitive_plane_add()
    bpy.ops.mesh.primitive_plane_add()
    names = {"Cube", "Plane"}
    for item in bpy.context.view_layer.objects:
        item.select_set(item.name in names)
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    bpy.ops.object.mode_set(mode="EDIT")
    step = UndoStep("x")
    step.begin()
    bpy.ops.object.mode_set(mode="OBJECT")
    step.roll_back()
    assert {o.name for o in bpy.context.objects_in_mode} == names


def test_refused_without_global_undo() -> None:
    bpy.context.preferences.edit.use_global_undo = False
    with pytest.raises(PolicyError, match="Global Undo is off"):
        require_undo()


def test_refused_without_enough_steps() -> None:
    bpy.context.preferences.edit.undo_steps = 0
    with pytest.raises(PolicyError, match="Undo Steps is 0"):
        UndoStep("x").begin()


def test_unrecorded_steps_are_noticed_and_the_users_edits_kept() -> None:
    """Undo that is switched off behind our back would go to the user's last step: it is taken back."""
    bpy.ops.ed.undo_push(message="user a")
    bpy.data.objects["Cube"].location.x = 3
    bpy.ops.ed.undo_push(message="user b")
    step = UndoStep("x")
    edit = bpy.context.preferences.edit
    step.begin()
    edit.use_global_undo = False
    bpy.ops.ed.undo()  # as if the push of `begin` had recorded nothing
    with pytest.raises(UndoFailed, match="did not record"):
        step.roll_back()
    assert bpy.data.objects["Cube"].location.x == 3


def test_scripts_and_users_see_no_trace_of_the_proof() -> None:
    """What tells a request's first step from others is there in that step alone, and is forgotten with it."""
    scene = bpy.context.scene.name
    kept = list(bpy.data.scenes[scene].keys())
    step = UndoStep("x")
    step.begin()
    assert list(bpy.data.scenes[scene].keys()) == kept
    step.roll_back()
    assert list(bpy.data.scenes[scene].keys()) == kept
    step = UndoStep("x")
    step.begin()
    step.commit()
    assert list(bpy.data.scenes[scene].keys()) == kept
    bpy.ops.ed.undo()
    assert len(bpy.data.scenes[scene].keys()) == len(kept) + 1
    forget_witness()
    bpy.ops.ed.redo()
    assert len(bpy.data.scenes[scene].keys()) == len(kept) + 1
    forget_witness()
    assert list(bpy.data.scenes[scene].keys()) == kept


def test_nothing_is_built_anew_for_the_proof() -> None:
    """New or removed data-blocks make Blender rebuild the relations of the whole scene, a second for a big one."""
    told: list[str] = []

    def tell(_scene: object, _depsgraph: object) -> None:
        told.append("updated")

    bpy.context.view_layer.update()
    blocks = {name: frozenset(getattr(bpy.data, name).keys()) for name in ("meshes", "texts", "worlds")}
    bpy.app.handlers.depsgraph_update_post.append(tell)
    try:
        step = UndoStep("x")
        step.begin()
        step.commit()
        bpy.context.view_layer.update()
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(tell)
    assert {name: frozenset(getattr(bpy.data, name).keys()) for name in blocks} == blocks
    assert not told


def test_a_linked_scene_is_no_witness(tmp_path: Path) -> None:
    """Undo does not record what is linked."""
    bpy.context.scene.name = "AAA"
    bpy.data.libraries.write(str(tmp_path / "scene.blend"), {bpy.context.scene})
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "scene.blend"), link=True) as (_source, wanted):
        wanted.scenes = ["AAA"]
    assert any(scene.library for scene in bpy.data.scenes)
    step = UndoStep("x")
    step.begin()
    bpy.data.objects["Cube"].location.x = 4
    step.roll_back()
    assert bpy.data.objects["Cube"].location.x == 0


def test_compare_says_what_differs() -> None:
    before = digest()
    bpy.data.objects.new("extra", None)
    assert compare(before, before) == []
    assert any("'extra'" in each for each in compare(before, digest()))


def test_a_request_is_taken_back_past_what_was_only_selected() -> None:
    bpy.ops.ed.undo_push(message="a cube")
    step = UndoStep("Add a cone", "r1")
    step.begin()
    bpy.ops.mesh.primitive_cone_add()
    step.commit()
    bpy.ops.object.select_all(action="DESELECT")
    bpy.ops.ed.undo_push(message="deselected")
    take_back("r1")
    assert sorted(item.name for item in bpy.data.objects) == ["Camera", "Cube", "Light"]
    assert not bpy.context.scene.keys()
    bpy.ops.ed.redo()
    assert sorted(item.name for item in bpy.data.objects) == ["Camera", "Cone", "Cube", "Light"]


@pytest.mark.parametrize("way", ["roll_back", "take_back"])
def test_the_witness_is_found_though_a_handler_removes_it_after_an_undo(way: str) -> None:
    def on_undo(*_: object) -> None:
        forget_witness()

    bpy.app.handlers.undo_post.append(on_undo)
    try:
        step = UndoStep("Add a cone", "r1")
        step.begin()
        bpy.ops.mesh.primitive_cone_add()
        if way == "roll_back":
            step.roll_back()
        else:
            step.commit()
            take_back("r1")
    finally:
        bpy.app.handlers.undo_post.remove(on_undo)
    assert sorted(item.name for item in bpy.data.objects) == ["Camera", "Cube", "Light"]
    assert not bpy.context.scene.keys()


def test_what_is_not_in_the_history_is_not_taken_back() -> None:
    bpy.ops.ed.undo_push(message="a cube")
    bpy.ops.mesh.primitive_cone_add()
    bpy.ops.ed.undo_push(message="a cone")
    with pytest.raises(UndoFailed, match="does not reach back to before this request; nothing was undone"):
        take_back("never")
    assert sorted(item.name for item in bpy.data.objects) == ["Camera", "Cone", "Cube", "Light"]
