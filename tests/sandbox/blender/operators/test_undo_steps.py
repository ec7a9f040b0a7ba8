# SPDX-License-Identifier: GPL-3.0-or-later
"""No operator of a script leaves an undo step of its own: one undo takes a run back, and a roll-back is exact."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.blender.operators import undo_steps
from bl_ext.user_default.mcp_bridge.sandbox.blender.operators.crashing import why_crashing
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.run import execute, undo
from bl_ext.user_default.mcp_bridge.scene.override import Place

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


def history() -> list[tuple[str, str]]:
    """The type and name of each undo step, which Blender only prints."""
    manager: Any = bpy.context.window_manager
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        shown = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            manager.print_undo_steps()
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(shown, 1)
            os.close(shown)
        file.seek(0)
        return re.findall(r"type='(.*?)', name='(.*?)'", file.read().decode())


def _sculpt(prepare: Callable[[], object] = lambda: None, mode: str = "SCULPT") -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    prepare()
    bpy.ops.object.mode_set(mode=mode)


def _multires() -> None:
    bpy.context.object.modifiers.new("m", "MULTIRES")
    bpy.ops.object.multires_subdivide(modifier="m")


_STATES: dict[str, Callable[[], None]] = {
    "object": lambda: _sculpt(mode="OBJECT"),
    "edit": lambda: _sculpt(mode="EDIT"),
    "sculpt": _sculpt,
    "multires": lambda: _sculpt(_multires),
    "vertex paint": lambda: _sculpt(mode="VERTEX_PAINT"),
    "weight paint": lambda: _sculpt(mode="WEIGHT_PAINT"),
    "texture paint": lambda: _sculpt(mode="TEXTURE_PAINT"),
}
_ELSEWHERE = "\nbpy.context.view_layer.objects.active = bpy.data.objects['Camera']"


def _override(kind: str = "VIEW_3D") -> Any:
    """The context of a 3D view, as operators of sculpting need it, or of another editor."""
    area = bpy.context.window.screen.areas[0]
    area.type = kind
    region = next(each for each in area.regions if each.type == "WINDOW")
    return Place(window=bpy.context.window, area=area, region=region)


def _native(idname: str) -> Any:
    module, _, name = idname.partition(".")
    return getattr(getattr(bpy.ops, module), name)


def _possible(state: str) -> list[str]:
    """The operators of the allow-list that can run in this state."""
    _STATES[state]()
    found = []
    with _override():
        for idname in sorted(policy("blender").operators):
            try:
                possible = _native(idname).poll("EXEC_DEFAULT")
            except Exception:
                possible = False  # this Blender does not have it, or its own code fails
            if possible and not why_crashing(idname, {}):
                found.append(idname)
    return found


def _mesh() -> tuple[object, ...]:
    mesh = bpy.data.objects["Cube"].data
    return (
        sorted((each.name, each.domain, each.data_type, len(each.data)) for each in mesh.attributes),
        [tuple(vertex.co) for vertex in mesh.vertices],
        sorted(bpy.data.objects.keys()),
        bpy.context.view_layer.objects.active.name,
    )


def _run_in(case: tuple[str, str, bool]) -> str:
    """Run an operator in a script that then makes another object active, and perhaps fails; return what is wrong."""
    state, idname, fails = case
    _STATES[state]()
    with _override():
        bpy.ops.ed.undo_push(message="user")
        execute._rate.clear()
        mode, seen = bpy.context.object.mode, _as_object(_mesh)
        users = len(history())
        step = undo.UndoStep("T")
        step.begin()
        may_make, native = undo_steps.may_make(idname), _native(idname)
        with contextlib.suppress(RuntimeError, TypeError, AttributeError):  # the operator's own error
            native("EXEC_DEFAULT")
        if may_make or undo_steps.may_make():
            undo_steps.settle(native)
        layer = bpy.context.view_layer.objects
        layer.active = layer.get("Camera")
        (step.roll_back if fails else step.commit)()
        made = history()[users:]
        if any((kind, name) != ("Global Undo", "T ") for kind, name in made):
            return f"the history has {made}"
        if not fails:
            bpy.ops.ed.undo()
            undo.forget_witness()
    if fails and bpy.context.object.mode != mode:
        return f"the mode is {bpy.context.object.mode}"
    now = _as_object(_mesh)
    return "" if now == seen else f"{seen} became {now}"


def _as_object(read: Callable[[], Any]) -> Any:
    """Read in object mode, where meshes are up to date, and leave the history and the mode as they are."""
    modes = undo.Modes.leave()
    seen = read()
    modes.enter()
    return seen


@pytest.mark.timeout(600)
@pytest.mark.parametrize("state", _STATES)
def test_no_operator_leaves_a_step_of_its_own(state: str) -> None:
    possible = fork.run(_possible, state)
    assert len(possible) > 50
    cases = [(state, idname, fails) for idname in possible for fails in (True, False)]
    answers = fork.run_each(_run_in, cases, timeout=20)
    assert {case: answer for case, answer in zip(cases, answers, strict=True) if answer} == {}


_LOOP = """
for number in range(100):
    bpy.ops.paint.mask_flood_fill(mode='VALUE', value=number / 100)
"""
_TOPOLOGY = "bpy.ops.sculpt.dynamic_topology_toggle()\nbpy.ops.sculpt.symmetrize()"
_SCRIPTS = {
    "one": "bpy.ops.paint.mask_flood_fill(mode='VALUE', value=1)",
    "many": _LOOP,
    "dynamic topology": _TOPOLOGY,
    "dynamic topology and back": _TOPOLOGY + "\nbpy.ops.sculpt.dynamic_topology_toggle()",
    "then object mode": _LOOP + "bpy.ops.object.mode_set(mode='OBJECT')\nbpy.ops.mesh.primitive_monkey_add()",
    "remeshed": "bpy.ops.object.voxel_remesh()",
    "with undo": "bpy.ops.paint.mask_flood_fill('EXEC_DEFAULT', True, mode='VALUE', value=1)",
}


def _of_script(code: str, title: str) -> list[tuple[str, str]]:
    bpy.ops.ed.undo_push(message="user")
    before = _as_object(_mesh)
    code = f"bpy.ops.object.mode_set(mode='SCULPT')\n{code}{_ELSEWHERE}"
    with pytest.raises(HandlerError, match="ZeroDivisionError"):
        execute.execute_blender_code({"code": f"import bpy\n{code}\n1 / 0", "title": title})
    assert _as_object(_mesh) == before
    execute.execute_blender_code({"code": "import bpy\n" + code, "title": title})
    made = history()
    bpy.ops.ed.undo()
    undo.forget_witness()
    assert _as_object(_mesh) == before
    bpy.ops.ed.redo()
    undo.forget_witness()
    assert bpy.context.view_layer.objects.active.name == "Camera"
    return made


@pytest.mark.parametrize("script", _SCRIPTS)
@pytest.mark.parametrize("title", ["T", "Mask Flood Fill", "Voxel Remesh", "Dynamic topology disable"])
def test_one_undo_takes_a_script_that_sculpts_back(script: str, title: str) -> None:
    made = fork.run(_of_script, _SCRIPTS[script], title)
    assert made[0] == ("Global Undo", "user")
    assert set(made[1:]) == {("Global Undo", f"{title} ")}
    assert len(made) == 4  # the failed run, the state before the other one, and this one


def _many_images() -> None:
    image = bpy.data.images.new("i", 4, 4)
    image.pixels.foreach_set([0.2] * 64)
    before = [*image.pixels]
    bpy.ops.ed.undo_push(message="user")
    loop = "for _ in range(101): bpy.ops.image.invert(invert_r=True)\n"
    with _override("IMAGE_EDITOR"):
        bpy.context.space_data.image = image
        with pytest.raises(HandlerError, match="ZeroDivisionError"):
            result(loop + "bpy.ops.image.resize(size=(2, 2))\n1 / 0")
        image = bpy.data.images["i"]
        assert tuple(image.size) == (4, 4)
        assert [*image.pixels] == before
        result(loop)
    assert bpy.data.images["i"].pixels[0] == pytest.approx(0.8, abs=0.01)
    assert history() == [
        ("Global Undo", name) for name in ("user", "MCP script ", "MCP script ", "MCP script ")
    ]


def test_operators_of_images_fill_no_history_and_are_rolled_back() -> None:
    fork.run(_many_images)


def _left_by_an_add_on() -> None:
    bpy.ops.ed.undo_push(message="user")
    bpy.ops.object.mode_set(mode="SCULPT")
    bpy.ops.paint.mask_flood_fill(mode="VALUE", value=1)  # begins a step that nobody completes
    with pytest.raises(HandlerError, match="ZeroDivisionError"):
        result("bpy.data.objects['Cube'].location.x = 3" + _ELSEWHERE + "\n1 / 0")
    assert bpy.data.objects["Cube"].location.x == 0
    assert bpy.context.object.mode == "SCULPT"


def test_a_step_that_was_begun_before_the_run_does_not_take_the_place_of_its_own() -> None:
    fork.run(_left_by_an_add_on)


def _taken_back() -> None:
    bpy.ops.ed.undo_push(message="user")
    before = _as_object(_mesh)
    code = f"import bpy\nbpy.ops.object.mode_set(mode='SCULPT')\n{_LOOP}"
    execute.run(code, request_id="r1", requester="test")
    assert bpy.context.mode == "SCULPT"
    for value in (0.5, 1.0):
        bpy.ops.paint.mask_flood_fill("EXEC_DEFAULT", True, mode="VALUE", value=value)  # as the user does it
    assert ("Sculpt", "Mask Flood Fill") in history()
    undo.take_back("r1")
    assert _as_object(_mesh) == before


def test_a_request_is_taken_back_past_what_the_user_sculpted() -> None:
    fork.run(_taken_back)


def test_the_preferences_stay_as_they_are() -> None:
    preferences = bpy.context.preferences
    preferences.edit.undo_steps, preferences.is_dirty = 17, False
    try:
        result("bpy.ops.object.mode_set(mode='SCULPT')\nbpy.ops.paint.mask_flood_fill(mode='VALUE', value=1)")
        assert preferences.edit.undo_steps == 17
        assert not preferences.is_dirty
    finally:
        preferences.edit.undo_steps = 32
