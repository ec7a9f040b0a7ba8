# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments of all operators: NaN, indices, and the arguments of a macro's steps."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import errors
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender.operators.crashing import why_crashing
from bl_ext.user_default.mcp_bridge.sandbox.blender.operators.instead import INSTEAD
from bl_ext.user_default.mcp_bridge.sandbox.blender.operators.ops import steps
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.scene import override

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


def _operators() -> Iterator[tuple[str, Any]]:
    """Every operator of this Blender that a script may call, with its description."""
    for idname in sorted(policy("blender").operators - INSTEAD.keys()):
        module, _, name = idname.partition(".")
        with contextlib.suppress(KeyError):
            yield idname, getattr(getattr(bpy.ops, module), name).get_rna_type()


def _floats(rna: Any) -> list[tuple[str, int]]:
    """The floating-point arguments of an operator, with the length of arrays."""
    return [(p.identifier, p.array_length if p.is_array else 0) for p in rna.properties if p.type == "FLOAT"]


def _macros() -> dict[str, dict[str, str]]:
    return {idname: dict(found) for idname, _rna in _operators() if (found := steps(idname))}


_TRY = """
def attempt(idname, arguments):
    module, _, name = idname.partition('.')
    try:
        getattr(getattr(bpy.ops, module), name)(**arguments)
    except ValueError as error:
        return str(error)
    except Exception as error:
        return repr(error)
    return 'it ran'
NAN = float('nan')
def value(length): return [1.0] * (length - 1) + [NAN] if length else NAN
"""


def test_no_operator_takes_nan() -> None:
    cases = [(idname, name, length) for idname, rna in _operators() for name, length in _floats(rna)]
    assert len(cases) > 300
    said = result(f"{_TRY}result = [attempt(i, {{n: value(l)}}) for i, n, l in {cases}]")
    for (idname, name, _length), each in zip(cases, said, strict=True):
        assert each == f"bpy.ops.{idname}(): {name} is not a number (NaN): give a finite one"


def test_no_step_of_a_macro_takes_nan() -> None:
    described = dict(_operators())
    cases = [
        (macro, argument, step, name, length)
        for macro, found in _macros().items()
        for argument, step in found.items()
        if step in described and not (why_crashing(macro, {}) or why_crashing(step, {}))
        for name, length in _floats(described[step])
    ]
    assert len(cases) > 50
    said = result(f"{_TRY}result = [attempt(m, {{a: {{n: value(l)}}}}) for m, a, _s, n, l in {cases}]")
    for (_macro, _argument, step, name, _length), each in zip(cases, said, strict=True):
        assert each == f"bpy.ops.{step}(): {name} is not a number (NaN): give a finite one"


def test_the_steps_of_macros_are_known() -> None:
    allowed = {idname for idname, _rna in _operators()}
    macros = _macros()
    assert {"object.duplicate_move", "mesh.extrude_region_move", "mesh.loopcut_slide"} <= macros.keys()
    assert macros["mesh.duplicate_move"] == {
        "MESH_OT_duplicate": "mesh.duplicate",
        "TRANSFORM_OT_translate": "transform.translate",
    }
    refused = {step for found in macros.values() for step in found.values()} - allowed
    assert refused == {"transform.edge_slide"}


def test_a_step_that_no_script_may_call_gets_no_arguments() -> None:
    start = "bpy.ops.object.mode_set(mode='EDIT')\nresult = list(bpy.ops.mesh.offset_edge_loops_slide("
    assert result(f"{start}MESH_OT_offset_edge_loops={{'use_cap_endpoint': False}}))") == ["FINISHED"]
    with pytest.raises(PolicyError, match=r"bpy\.ops\.transform\.edge_slide may not be used"):
        result(f"{start}TRANSFORM_OT_edge_slide={{'value': 0.5}}))")


@pytest.mark.parametrize(
    ("direct", "macro"),
    [
        (
            "mesh.loopcut(number_cuts=10**6, edge_index=-1)",
            "mesh.loopcut_slide(MESH_OT_loopcut={'number_cuts': 10**6, 'edge_index': -1})",
        ),
        (
            "transform.translate(texture_space=True, filepath='/x')",
            "object.duplicate_move(TRANSFORM_OT_translate={'filepath': '/x'})",
        ),
        ("armature.duplicate()", "armature.duplicate_move()"),
        (
            "armature.duplicate(do_flip_names=True)",
            "armature.duplicate_move(ARMATURE_OT_duplicate={'do_flip_names': True})",
        ),
        (
            "armature.duplicate(do_flip_names=True)",
            "armature.duplicate_move(ARMATURE_OT_duplicate=Own(do_flip_names=True))",
        ),
    ],
)
def test_a_step_is_checked_as_a_call_of_its_operator(direct: str, macro: str) -> None:
    start = (
        "class Own(dict):\n    def items(self): return ()\n"
        "rig = bpy.data.objects.new('Rig', bpy.data.armatures.new('Rig'))\n"
        "bpy.context.collection.objects.link(rig)\nbpy.context.view_layer.objects.active = rig\n"
        "bpy.ops.object.mode_set(mode='EDIT')\n"
        "for n in range(2600): rig.data.edit_bones.new(str(n)).tail = (0, 0, 1)\n"
        if "armature" in direct
        else "bpy.ops.object.mode_set(mode='EDIT')\n"
    )

    def said(call: str) -> str:
        with pytest.raises((PolicyError, LimitExceeded, HandlerError)) as caught:
            result(f"{start}bpy.ops.{call}")
        return str(caught.value)

    wanted = fork.run(said, direct)
    assert fork.run(said, macro) == wanted


@pytest.mark.skipif(bpy.app.version >= (4, 3), reason="this Blender has no gpencil.reproject")
def test_strokes_are_not_reprojected() -> None:
    with pytest.raises(
        PolicyError, match=r"bpy\.ops\.gpencil\.reproject: this Blender crashes: set the positions of"
    ):
        result("bpy.ops.gpencil.reproject()")


def test_a_step_gets_the_arguments_that_were_checked() -> None:
    assert result(
        "bpy.ops.object.duplicate_move(OBJECT_OT_duplicate={'linked': True},"
        " TRANSFORM_OT_translate={'value': (0, 0, 2)})\n"
        "o = bpy.context.object\nresult = [o.name, round(o.location.z, 3), o.data.users]"
    ) == ["Cube.001", 2.0, 2]


# --- indices ----------------------------------------------------------------------------------------------------

_MODES = ("OBJECT", "EDIT", "SCULPT", "WEIGHT_PAINT")


def _indices() -> list[tuple[str, str]]:
    return [
        (idname, p.identifier)
        for idname, rna in _operators()
        for p in rna.properties
        if p.type == "INT" and p.identifier.endswith("index")
    ]


def _wild(case: tuple[str, str, str, int]) -> None:
    """Run a script that calls an operator with an index that nothing has, in a mode."""
    mode, idname, name, index = case
    fork.overwrite_freed()
    execute._rate.clear()
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    other = (
        ", 'object_index': 0"
        if name == "edge_index"
        else ", 'edge_index': 0"
        if name == "object_index"
        else ""
    )
    with contextlib.suppress(HandlerError, PolicyError):
        result(
            f"{_TRY}bpy.context.object.modifiers.new('m', 'BEVEL')\nbpy.context.object.constraints.new('IK')\n"
            f"bpy.ops.object.mode_set(mode={mode!r})\n"
            f"area = [a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == 'VIEW_3D'][0]\n"
            f"with bpy.context.temp_override(area=area, region=area.regions[-1]):\n"
            f"    attempt({idname!r}, {{{name!r}: {index}{other}}})"
        )


def test_no_operator_follows_an_index_that_nothing_has() -> None:
    found = _indices()
    assert ("mesh.loopcut", "edge_index") in found
    cases = [(mode, *each, index) for mode in _MODES for each in found for index in (-9, 10**9)]
    answers = fork.run_each(_wild, cases)
    assert [case for case, answer in zip(cases, answers, strict=True) if isinstance(answer, fork.Died)] == []


# --- converting -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["SCULPT", "VERTEX_PAINT", "WEIGHT_PAINT", "TEXTURE_PAINT"])
@pytest.mark.parametrize(
    "aside", ["", "bpy.context.view_layer.objects.active = bpy.data.objects['Camera']\n"]
)
def test_nothing_is_converted_but_in_object_mode(mode: str, aside: str) -> None:
    with pytest.raises(PolicyError, match=r"first call bpy\.ops\.object\.mode_set\(mode='OBJECT'\)"):
        result(f"bpy.ops.object.mode_set(mode={mode!r})\n{aside}bpy.ops.object.convert(target='CURVE')")
    if bpy.app.version >= (5, 0):
        bpy.ops.object.mode_set(mode=mode)
        assert not bpy.ops.object.convert.poll()  # what the rule follows


def test_objects_are_converted_in_object_mode() -> None:
    start = "bpy.context.object.modifiers.new('m', 'SUBSURF')\n"
    assert (
        result(f"{start}bpy.ops.object.convert(target='MESH')\nresult = len(bpy.context.object.modifiers)")
        == 0
    )


# --- orientations -----------------------------------------------------------------------------------------------


def _orient(case: tuple[str, str, str, str]) -> str:
    """Run a script that calls an operator along normals while a curve or surface is edited."""
    added, idname, argument, given = case
    fork.overwrite_freed()
    execute._rate.clear()
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    call = f"attempt({idname!r}, {given})".replace("ARGUMENT", argument)
    try:
        return str(result(f"{_TRY}bpy.ops.{added}()\nbpy.ops.object.mode_set(mode='EDIT')\nresult = {call}"))
    except PolicyError as error:
        return str(error)


def test_nothing_crashes_along_the_normals_of_a_curve() -> None:
    calls = [
        (idname, prop.identifier, "{'ARGUMENT': 'NORMAL'}")
        for idname, rna in _operators()
        for prop in rna.properties
        if prop.identifier in ("orient_type", "orient_matrix_type")
    ]
    calls += [
        (idname, "orient_type", f"{{{step!r}: {{'ARGUMENT': 'NORMAL'}}}}")
        for idname, found in _macros().items()
        for step, name in found.items()
        if idname.startswith("curve.") and name.startswith("transform.")
    ]
    assert {"transform.translate", "transform.transform", "curve.extrude_move"} <= {call[0] for call in calls}
    added = ("curve.primitive_bezier_circle_add", "surface.primitive_nurbs_surface_sphere_add")
    cases = [(each, *call) for each in added for call in calls]
    answers = dict(zip(cases, fork.run_each(_orient, cases), strict=True))
    assert [case for case, answer in answers.items() if isinstance(answer, Exception)] == []
    refused = [
        answer for answer in answers.values() if "this Blender crashes where the orientation is" in answer
    ]
    assert len(refused) == (len(cases) if bpy.app.version < (4, 5) else 0)


def _calls_in_overrides(mode: str) -> tuple[set[str], set[str]]:
    """Call every operator within an override; return those called there, and those called while no thread paused."""
    here: Any = bpy.context
    here.object.modifiers.new("m", "CLOTH").point_cache.frame_end = 2
    bpy.ops.object.mode_set(mode=mode)
    inside, beside, pauses = set(), set(), [0]

    @contextlib.contextmanager
    def paused() -> Iterator[None]:
        pauses[0] += 1
        yield
        pauses[0] -= 1

    module: Any = bpy.ops
    native = module._op_call

    def call(idname: str, *rest: Any) -> set[str]:
        if here.active_object == here.view_layer.objects.active and not hasattr(here, "point_cache"):
            answer: set[str] = native(idname, *rest)
            return answer
        inside.add(idname)
        if not pauses[0]:
            beside.add(idname)
        return {"FINISHED"}

    module._op_call, override.threads.paused = call, paused
    for idname in [*(idname for idname, _rna in _operators()), "ptcache.bake_all"]:
        execute._rate.clear()
        with contextlib.suppress(errors.BridgeError):  # it is refused, or needs arguments
            result(
                "with bpy.context.temp_override(active_object=bpy.data.objects['Camera']):\n"
                f"    bpy.ops.{idname}({'bake=True' if idname in INSTEAD else ''})"
            )
    return inside, beside


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer Blenders look into overrides with the lock")
@pytest.mark.parametrize("mode", ["OBJECT", "SCULPT"])
def test_every_operator_in_an_override_is_called_while_our_threads_pause(mode: str) -> None:
    """Beside a thread at work, Blender up to 5.0 crashes (`scene/override.py`)."""
    inside, beside = fork.run(_calls_in_overrides, mode)
    assert len(inside) > 300
    assert "ptcache.bake_from_cache" in inside
    assert "ed.undo_push" in inside
    assert beside == set()


def test_our_own_overrides_are_made_in_one_place() -> None:
    root = Path(override.__file__).parent.parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr == "temp_override"
        and "context" in ast.unparse(node.value).lower()
    }
    assert found == {"sandbox/blender/overrides.py", "scene/override.py"}  # the first one serves scripts
