# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation: what is wrong, where, and what to do instead; and never for an honest script."""

from __future__ import annotations

import json

import pytest
from bl_ext.user_default.mcp_bridge.sandbox import rna
from bl_ext.user_default.mcp_bridge.sandbox.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.validate import ValidationResult, validate

from support import sandbox_cases
from support.sandbox_cases import Honest, plain, run_honest


@pytest.fixture(scope="module")
def index() -> rna.RnaIndex:
    return rna.build()


def check(text: str, index: rna.RnaIndex) -> ValidationResult:
    return validate("import bpy\n" + text, index)


def test_a_good_script(index: rna.RnaIndex) -> None:
    found = check(
        "bpy.ops.mesh.primitive_cube_add(size=2)\nfor o in bpy.data.objects:\n    o.hide_set(True)", index
    )
    assert found.is_valid
    assert found.operator_list == ("mesh.primitive_cube_add",)
    assert found.imports == ("bpy",)
    assert found.statistics["lines"] == 4
    assert found.statistics["loops"] == 1
    json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("text", "code", "line", "said"),
    [
        ("x = = 1", "syntax", 2, "not valid Python"),
        ("import os; os.remove('/important')", "import", 2, "'os' cannot be imported"),
        ("from socket import socket", "import", 2, "no network"),
        ("bpy.ops.nonexistent()", "path", 2, "no member 'nonexistent'"),
        ("bpy.ops.mesh.primitive_cube_ad()", "operator", 2, "did you mean bpy.ops.mesh.primitive_cube_add"),
        ("bpy.ops.mesh.primitive_cube_add(sise=2)", "parameter", 2, "did you mean size"),
        (
            "bpy.ops.WM.save_as_mainfile(filepath='x')",
            "policy",
            2,
            "bpy.ops.wm.save_as_mainfile may not be used",
        ),
        ("bpy.ops.mesh.primitive_cube_add('INVOKE_DEFAULT')", "operator", 2, "wait for the user"),
        ("bpy.data.objekts", "path", 2, "did you mean objects"),
        ("bpy.context.scene.rendr.engine = 'CYCLES'", "path", 2, "did you mean render"),
        ("bpy.context.preferences.edit", "policy", 2, "bpy.context.preferences may not be used"),
        ("bpy.types.Objekt", "path", 2, "did you mean Object"),
        ("ops = bpy.ops\nops.wm.quit_blender()", "policy", 3, "bpy.ops.wm.quit_blender"),
        ("from bpy import ops as o\no.wm.quit_blender()", "policy", 3, "bpy.ops.wm.quit_blender"),
        ("C = bpy.context\nC.scene.framee_end = 3", "path", 3, "frame_end"),
    ],
)
def test_what_is_wrong_is_said(text: str, code: str, line: int, said: str, index: rna.RnaIndex) -> None:
    found = check(text, index)
    assert not found.is_valid
    finding = found.errors[0]
    assert (finding.code, finding.line) == (code, line)
    assert said in str(finding)
    assert finding.column >= 1


def test_what_may_be_missing_on_purpose_is_a_warning(index: rna.RnaIndex) -> None:
    found = check(
        "try:\n    bpy.ops.object.no_such()\nexcept AttributeError:\n    pass\n"
        "if bpy.app.version < (3, 0, 0):\n    bpy.context.scene.old_thing = 1\n",
        index,
    )
    assert found.is_valid
    assert len(found.warnings) == 2


def test_enum_values_are_compared(index: rna.RnaIndex) -> None:
    found = check("bpy.ops.mesh.primitive_cube_add(align='WROLD')", index)
    assert "use one of WORLD" in str(found.warnings[0])


def test_shadowed_names_are_no_blender(index: rna.RnaIndex) -> None:
    assert check("def f(bpy):\n    return bpy.ops.nothing.at_all()", index).is_valid


def test_levels_without_blender(index: rna.RnaIndex) -> None:
    found = validate("import bpy", index, policy("math"))
    assert "the level 'math' has no Blender" in str(found.errors[0])


@pytest.mark.parametrize("case", sandbox_cases.honest(), ids=lambda c: c.id)
def test_honest_scripts_are_valid(case: Honest, index: rna.RnaIndex) -> None:
    """On a Blender whose plain Python runs the script."""
    found = validate(case.code, index)
    assert found.is_valid or not run_honest(case, plain).ok, [str(e) for e in found.errors]
