# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of a script run as Blender runs them, and under the same guards as any function of the script."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.reference import rna
from bl_ext.user_default.mcp_bridge.sandbox.run import execute, validate

pytestmark = pytest.mark.usefixtures("fresh_file")

_OPERATOR = (
    "import bpy\nclass A(bpy.types.Operator):\n    bl_idname = 'object.own'\n    bl_label = 'x'\n"
    "    size: bpy.props.FloatProperty(default=0.1, max=2)\n{}\nbpy.utils.register_class(A)\n"
)


def run(body: str, calls: str) -> dict[str, Any]:
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return execute.execute_blender_code({"code": _OPERATOR.format(indented) + calls})


def executing(*lines: str) -> str:
    return "def execute(self, context):\n" + "".join(f"    {line}\n" for line in lines)


def test_execute_sees_the_context_and_its_properties() -> None:
    found = run(
        executing(
            "context.object.location.x = self.size", "self.size = 7", "print(self.size, self.as_keywords())"
        )
        + "    return {'FINISHED'}",
        "result = [list(bpy.ops.object.own()), list(bpy.ops.object.own('EXEC_DEFAULT', size=1))]",
    )
    assert found["result"] == [["FINISHED"], ["FINISHED"]]
    assert found["stdout"] == "2.0 {'size': 2.0}\n" * 2
    assert bpy.context.object.location.x == 1.0


def test_a_script_does_not_wait_for_the_user() -> None:
    """As in a Blender without a window, `execute` runs and `invoke` does not."""
    found = run(
        executing("return {'RUNNING_MODAL'}") + "def invoke(self, context, event):\n    raise KeyError",
        "result = list(bpy.ops.object.own('INVOKE_DEFAULT'))",
    )
    assert found["result"] == ["RUNNING_MODAL"]
    assert any("does not wait for the user" in each for each in found["warnings"])


@pytest.mark.parametrize(
    ("body", "call", "said"),
    [
        ("@classmethod\ndef poll(cls, context):\n    return False\n", "own()", "poll() failed"),
        (executing("return 3"), "own()", "incompatible return value"),
        (executing("self.report({'ERROR'}, 'bad luck')", "return {'FINISHED'}"), "own()", "Error: bad luck"),
        (executing("return {'FINISHED'}"), "own(other=1)", "unrecognized"),
        (executing("return {'FINISHED'}"), "own(size='a')", "expected a float"),
        (executing("1 / 0"), "own()", "division by zero"),
        (executing("self.report('INFO', 'x')"), "own()", "set of texts"),
    ],
)
def test_what_fails_in_blender_fails(body: str, call: str, said: str) -> None:
    with pytest.raises(HandlerError) as caught:
        run(body, f"bpy.ops.object.{call}")
    assert said in str(caught.value)


def test_an_error_of_an_inner_operator_is_not_one_of_the_outer() -> None:
    body = executing(
        "if self.size == 1:", "    self.report({'ERROR'}, 'inner')", "    return {'CANCELLED'}",
        "try:", "    bpy.ops.object.own(size=1)", "except RuntimeError as error:", "    print(error)",
        "return {'FINISHED'}",
    )  # fmt: skip
    found = run(body, "result = list(bpy.ops.object.own())")
    assert found["result"] == ["FINISHED"]
    assert "Error: inner" in found["stdout"]


@pytest.mark.parametrize("name", ["own", "object.own.b", "Object.own", "a b.c", "x" * 50 + ".y"])
def test_a_name_that_blender_does_not_take(name: str) -> None:
    code = (
        f"import bpy\nclass A(bpy.types.Operator):\n    bl_idname = {name!r}\n    bl_label = 'x'\n"
        "bpy.utils.register_class(A)"
    )
    with pytest.raises(HandlerError, match="bl_idname"):
        execute.execute_blender_code({"code": code})


def test_guards_and_limits_hold_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError, match="save_file"):
        run(
            executing("bpy.ops.wm.save_mainfile()"),
            "try:\n    bpy.ops.object.own()\nexcept Exception:\n    pass",
        )
    monkeypatch.setenv("BLENDER_MCP_TIME_LIMIT", "0.5")
    with pytest.raises(LimitExceeded):
        run(
            executing("while True:", "    pass"),
            "try:\n    bpy.ops.object.own()\nexcept Exception:\n    pass",
        )


def test_what_an_operator_holds_says_when_it_is_removed() -> None:
    body = "held = []\n" + executing("return {'FINISHED'} if self.held[0].levels else {'CANCELLED'}")
    calls = (
        "o = bpy.context.object\nA.held.append(o.modifiers.new('s', 'SUBSURF'))\nkind = A\ndel A\n"
        "bpy.ops.object.own()\no.modifiers.clear()\nbpy.ops.object.own()"
    )
    with pytest.raises(HandlerError, match="removed"):
        run(body, calls)


def test_the_name_of_one_of_blenders_operators_is_the_scripts_for_its_run() -> None:
    code = (
        "import bpy\nclass A(bpy.types.Operator):\n    bl_idname = 'mesh.primitive_cube_add'\n    bl_label = 'x'\n"
        "    def execute(self, context):\n        return {'CANCELLED'}\nbpy.utils.register_class(A)\n"
        "result = list(bpy.ops.mesh.primitive_cube_add())"
    )
    assert execute.execute_blender_code({"code": code})["result"] == ["CANCELLED"]
    assert execute.execute_blender_code({"code": "result = list(bpy.ops.mesh.primitive_cube_add())"})[
        "result"
    ] == ["FINISHED"]


def test_validation_knows_a_scripts_own_operators() -> None:
    code = _OPERATOR.format("    def execute(self, context):\n        return {'FINISHED'}\n")
    assert validate.validate(code + "bpy.ops.object.own()", rna.current()).is_valid
    assert not validate.validate(code + "bpy.ops.object.owned()", rna.current()).is_valid
