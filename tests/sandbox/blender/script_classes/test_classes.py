# SPDX-License-Identifier: GPL-3.0-or-later
"""Classes that a script registers exist in its run alone: Blender never learns of them, and the result says so."""

from __future__ import annotations

import contextlib
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

pytestmark = pytest.mark.usefixtures("fresh_file")

_PANEL = (
    "import bpy\nclass {0}(bpy.types.{1}):\n    bl_label = 'x'\n    bl_space_type = 'VIEW_3D'\n"
    "    bl_region_type = 'UI'\n    def draw(self, context):\n        raise SystemExit\n"
)
_REGISTERED = "bpy.utils.register_class({0})\n"


def run(code: str) -> dict[str, Any]:
    return execute.execute_blender_code({"code": code})


def subclasses() -> set[str]:
    """What Python and Blender know of classes that derive from Blender's."""
    waiting, found = [bpy.types.bpy_struct], set()
    while waiting:
        kinds = type.__subclasses__(waiting.pop())
        found |= {f"{kind.__module__}.{kind.__name__}" for kind in kinds}
        waiting += kinds
    return found


@pytest.mark.parametrize(
    "base", ["Header", "Menu", "Panel", "UIList", "PropertyGroup", "NodeTree", "AddonPreferences"]
)
def test_blender_does_not_learn_of_what_a_script_registers(base: str) -> None:
    before = subclasses()
    said = run(_PANEL.format("EXAMPLE_PT_x", base) + _REGISTERED.format("EXAMPLE_PT_x") + "result = 1")
    assert said["result"] == 1
    assert "exists in this run alone" in said["warnings"][0]
    assert "add-on as a file" in said["warnings"][0]
    assert not hasattr(bpy.types, "EXAMPLE_PT_x")
    assert subclasses() == before


def test_an_operator_is_gone_with_the_run() -> None:
    run(
        "import bpy\nclass A(bpy.types.Operator):\n    bl_idname = 'object.of_this_run'\n    bl_label = 'x'\n"
        "    def execute(self, context):\n        return {'FINISHED'}\n"
        "bpy.utils.register_class(A)\nassert bpy.ops.object.of_this_run() == {'FINISHED'}"
    )
    assert "of_this_run" not in dir(bpy.ops.object)
    with pytest.raises(HandlerError, match="could not be found"):
        run("import bpy\nbpy.ops.object.of_this_run()")


def test_registering_twice_and_unregistering_twice_fail_as_in_blender() -> None:
    code = _PANEL.format("EXAMPLE_PT_x", "Panel") + (
        "register, unregister = bpy.utils.register_classes_factory([EXAMPLE_PT_x])\nresult = []\n"
        "for act in register, register, unregister, unregister:\n    try:\n        act()\n"
        "    except (ValueError, RuntimeError) as error:\n        result.append(str(error)[:40])\n"
    )
    registered, unregistered = run(code)["result"]
    assert registered == "register_class(...): already registered "
    assert unregistered == "unregister_class(...):, missing bl_rna a"


def test_menus_and_panels_stay_as_they_are() -> None:
    draw = bpy.types.VIEW3D_MT_object.draw
    said = run(
        "import bpy\ndef entry(self, context):\n    pass\nbpy.types.VIEW3D_MT_object.append(entry)\n"
        "bpy.types.VIEW3D_MT_object.prepend(entry)\nbpy.types.VIEW3D_MT_object.remove(entry)"
    )
    assert "left as they were" in said["warnings"][0]
    assert bpy.types.VIEW3D_MT_object.draw is draw
    assert not hasattr(draw, "_draw_funcs")


@pytest.mark.parametrize(
    "code",
    [
        "bpy.utils.register_class(int)",
        "bpy.utils.register_class(bpy.types.Panel)",
        "bpy.utils.unregister_class(bpy.types.VIEW3D_PT_tools_active)",
        "class A:\n    pass\nbpy.utils.register_class(A)",
        "class A(bpy.types.Object):\n    pass",
        "class A(bpy.types.VIEW3D_PT_tools_active):\n    pass",
    ],
)
def test_what_a_script_did_not_derive_from_a_listed_class_is_refused(code: str) -> None:
    with pytest.raises(PolicyError, match="add-on as a file"):
        run(f"import bpy\n{code}")


@pytest.mark.parametrize("owner", ["Scene", "Object", "WindowManager"])
@pytest.mark.parametrize("made", ["IntProperty()", "PointerProperty(type=A)", "BoolProperty(update=print)"])
def test_no_type_of_blenders_gets_a_property(owner: str, made: str) -> None:
    code = f"import bpy\nclass A(bpy.types.PropertyGroup):\n    pass\nbpy.types.{owner}.of_script = bpy.props.{made}"
    with pytest.raises(PolicyError, match="custom properties"):
        run(code)
    assert not hasattr(getattr(bpy.types, owner), "of_script")


def test_helpers_of_importers_have_a_path_and_no_file() -> None:
    code = (
        "import bpy\nfrom bpy_extras.io_utils import ImportHelper\n"
        "class A(bpy.types.Operator, ImportHelper):\n    bl_idname = 'object.reads'\n    bl_label = 'x'\n"
        "    files: bpy.props.CollectionProperty(type=bpy.types.OperatorFileListElement)\n"
        "    def execute(self, context):\n        print(repr(self.filepath), list(self.files))\n"
        "        if self.filepath:\n            open(self.filepath)\n        return {'CANCELLED'}\n"
        "bpy.utils.register_class(A)\nbpy.ops.object.reads()\n"
    )
    assert run(code)["stdout"] == "'' []\n"
    with pytest.raises(PolicyError, match="import_file"):
        run(code + "bpy.ops.object.reads(filepath='/etc/passwd')")


@pytest.mark.parametrize("owner", ["A", "A()", "bpy.types.Panel", "B"])
@pytest.mark.parametrize("name", ["report", "as_keywords", "append"])
def test_nothing_behind_a_function_of_a_base_can_be_reached(owner: str, name: str) -> None:
    code = (
        "import bpy\nclass A(bpy.types.Operator):\n    bl_idname = 'object.a'\n    bl_label = 'a'\n"
        f"class B(bpy.types.Panel):\n    pass\nfound = getattr({owner}, {name!r}, None)\nresult = []\n"
        "for each in ('func', 'function', 'code', 'globals', 'closure'):\n"
        "    result += [getattr(found, each, None)]\n"
        "try:\n    found.kept = 1\n    result += [found.kept]\nexcept AttributeError:\n    pass"
    )
    found = []
    with contextlib.suppress(PolicyError):
        found = run(code)["result"]
    assert not any(found)


def test_an_operator_calls_no_more_than_its_script_may() -> None:
    code = (
        "import bpy\nclass A(bpy.types.Operator):\n    bl_idname = 'object.a'\n    bl_label = 'a'\n"
        "    execute = {}\nbpy.utils.register_class(A)\nbpy.ops.object.a()"
    )
    count = len(bpy.data.objects)
    for function in (
        "bpy.data.objects.remove",
        "bpy.data.batch_remove",
        "bpy.ops.wm.save_mainfile",
        "open",
        "exec",
    ):
        with pytest.raises((HandlerError, PolicyError)):
            run(code.format(function))
    assert len(bpy.data.objects) == count
