# SPDX-License-Identifier: GPL-3.0-or-later
"""The properties of a script's operators keep what Blender's keep: the same code runs in plain Blender and here."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender.script_classes import values
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork

pytestmark = pytest.mark.usefixtures("fresh_file")

_CODE = """
import bpy
class EXAMPLE_OT_values(bpy.types.Operator):
    bl_idname = "example.values"
    bl_label = "x"
    kept: bpy.props.{made}
    def execute(self, context):
        print(shown(self.kept))
        for new in {news}:
            try:
                self.kept = new
                print(shown(self.kept))
            except (TypeError, ValueError) as error:
                print(type(error).__name__)
        return {{"FINISHED"}}
def shown(value):
    if isinstance(value, (str, bool, int, float)):
        return value
    return sorted(value) if isinstance(value, set) else [round(each, 5) for each in value]
bpy.utils.register_class(EXAMPLE_OT_values)
bpy.ops.example.values()
bpy.utils.unregister_class(EXAMPLE_OT_values)
"""
_ITEMS = "items=[('A', 'a', ''), ('B', 'b', '')]"


@pytest.mark.parametrize(
    ("made", "news"),
    [
        ("FloatProperty(default=0.1)", "[2, 0.7, True, 'a', None, (1,)]"),
        ("FloatProperty(default=3, min=1, max=5)", "[0, 9.5, 4.25]"),
        ("IntProperty(default=4, min=-2, max=6)", "[-9, 9, 2.5, True, 'a']"),
        ("BoolProperty()", "[True, 1, 0, 2, 'a']"),
        ("StringProperty(default='abc', maxlen=5)", "['abcdefgh', '', 3]"),
        (f"EnumProperty({_ITEMS})", "['B', 'C', 1, {'A'}]"),
        (f"EnumProperty({_ITEMS}, default='B')", "['A']"),
        (f"EnumProperty({_ITEMS}, options={{'ENUM_FLAG'}})", "[{'A', 'B'}, set(), {'C'}, 'A']"),
        ("FloatVectorProperty()", "[(1, 2, 3), (1, 2), 5, 'abc']"),
        ("FloatVectorProperty(size=2, default=(0.5, 7), max=6)", "[[8, -8]]"),
        ("FloatVectorProperty(subtype='COLOR')", "[(1, 0.5, 0.25)]"),
        ("FloatVectorProperty(subtype='COLOR', size=4)", "[(1, 0.5, 0.25, 0)]"),
        ("FloatVectorProperty(subtype='TRANSLATION', default=(1, 2, 3))", "[(4, 5, 6)]"),
        ("IntVectorProperty(default=(1, 2, 3))", "[(4, 5, 6), (0.5, 0, 0)]"),
        ("BoolVectorProperty(size=2)", "[(True, False)]"),
    ],
)
def test_values_are_as_in_blender(made: str, news: str) -> None:
    code = _CODE.format(made=made, news=news)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "plain", "exec", dont_inherit=True), {"__name__": "plain"})
    assert run(code)["stdout"] == printed.getvalue()


def run(code: str) -> dict[str, Any]:
    return execute.execute_blender_code({"code": code})


@pytest.mark.parametrize(
    "made",
    [
        "FloatProperty(update=print)",
        "FloatProperty(get=print)",
        "EnumProperty(items=print)",
        "PointerProperty(type=bpy.types.Object)",
    ],
)
def test_an_operator_has_no_property_for_which_blender_would_call_a_function(made: str) -> None:
    with pytest.raises(PolicyError, match="custom properties"):
        run(_CODE.format(made=made, news="[]"))


def test_what_is_only_drawn_may_have_any_property() -> None:
    code = (
        "import bpy\nclass A(bpy.types.UIList):\n    shown: bpy.props.BoolProperty(update=print)\n"
        "bpy.utils.register_class(A)\nresult = 1"
    )
    assert run(code)["result"] == 1


@pytest.mark.parametrize(
    "made",
    [
        "EnumProperty()",
        "FloatVectorProperty(size=33)",
        "FloatVectorProperty(size=10**9)",
        "StringProperty(default=3)",
        f"EnumProperty({_ITEMS}, default='C')",
        "FloatProperty(3)",
    ],
)
def test_a_property_that_blender_does_not_take(made: str) -> None:
    with pytest.raises(HandlerError):
        run(f"import bpy\nbpy.props.{made}")


def test_a_property_cannot_be_changed() -> None:
    for name in "about", "default", "name":
        with pytest.raises((HandlerError, PolicyError)):
            run(f"import bpy\nkept = bpy.props.IntProperty(default=2)\nkept.{name} = 1")


_HEAVY = "heavy = (1,)\nfor _ in range(60): heavy = (heavy, heavy)\n"
_FUNCTIONS = sorted(values.functions())
_ARGUMENTS = "default description items max maxlen min name options size subtype".split()


def _take(function: str) -> int:
    """Give each argument of a function of `bpy.props` values that unfold to 2**60 parts; return how many it took."""
    code = "\n".join(
        f"try:\n  bpy.props.{function}({argument}={value})\n  taken += 1\nexcept (TypeError, ValueError): pass"
        for argument in _ARGUMENTS
        for value in ("heavy", "[heavy]", "[heavy] * 3", "[(heavy, '', '')]", "[('A', heavy, heavy)]")
    )
    return int(
        execute.execute_blender_code({"code": f"import bpy\n{_HEAVY}taken = 0\n{code}\nresult = taken"})[
            "result"
        ]
    )


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_no_argument_is_unfolded(function: str) -> None:
    fork.run(_take, function, timeout=20)


def test_an_identifier_is_a_text() -> None:
    with pytest.raises(HandlerError, match=r"the identifier of an item is a text, not tuple"):
        execute.execute_blender_code({"code": "import bpy\nbpy.props.EnumProperty(items=[((1,), 'a', '')])"})
