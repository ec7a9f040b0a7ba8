# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation: what is wrong, where, and what to do instead; and never for an honest script."""

from __future__ import annotations

import ast
import json
from importlib import import_module

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender.access import PLAIN_COLLECTION_METHODS
from bl_ext.user_default.mcp_bridge.sandbox.blender.access import members as guarded_members
from bl_ext.user_default.mcp_bridge.sandbox.blender.host import BlenderHost
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.reference import rna
from bl_ext.user_default.mcp_bridge.sandbox.run import validate as validate_module
from bl_ext.user_default.mcp_bridge.sandbox.run.namespace import build_guard
from bl_ext.user_default.mcp_bridge.sandbox.run.validate import ValidationResult, validate
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import ScriptStopped, Watchdog

from support.garbage import collections
from support.sandboxing import sandbox_cases
from support.sandboxing.sandbox_cases import Honest, plain, run_honest


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
        ("from os import remove", "import", 2, "use the tool remove_file"),
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
        ("bpy.data.objekts", "path", 2, "did you mean objects"),
        ("bpy.context.scene.rendr.engine = 'CYCLES'", "path", 2, "did you mean render"),
        ("bpy.context.preferences.edit", "policy", 2, "bpy.context.preferences.edit may not be used"),
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


_FAILING_IMPORTS = (
    "import no_such.package",
    "from no_such_package import x",
    "from scipy import linalg",
    "from . import parts",
    "from .parts import *",
    "from os import remove",
    "from bpy.app.handlers import persistent",
)
_NOT_CERTAIN = (
    "try:\n    {}\nexcept ImportError:\n    x = None",
    "try:\n    import math\nexcept ImportError:\n    {}",
    "def never():\n    {}",
    "if len(bpy.data.objects) > 10 ** 6:\n    {}",
)


@pytest.mark.parametrize("statement", _FAILING_IMPORTS)
def test_an_import_that_fails_is_an_error_only_where_it_certainly_runs(
    statement: str, index: rna.RnaIndex
) -> None:
    assert not check(statement, index).is_valid
    for around in _NOT_CERTAIN:
        if statement.endswith("*") and around.startswith("def"):
            continue  # Python itself does not allow it
        found = check(around.format(statement), index)
        assert found.is_valid, [str(each) for each in found.errors]
        assert "import" in [each.code for each in found.warnings]


# --- what scripts do not get, before any run -----------------------------------------------------------------

IN_MAIN = "def main():\n    {}\nmain()"
IN_MAIN_GUARD = "def build():\n    {}\ndef main():\n    build()\nif __name__ == '__main__':\n    main()"


@pytest.mark.parametrize("around", ["{}", IN_MAIN, IN_MAIN_GUARD])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bpy.data.images.load('/etc/passwd')", "use the tool import_file"),
        ("bpy.data.libraries.load('a.blend')", "use the tool import_file"),
        ("bpy.app.handlers.frame_change_post.append(print)", "animate with keyframes or drivers"),
        ("bpy.app.timers.register(print)", "do the work now"),
        ("bpy.props.RemoveProperty(bpy.types.Object, attr='x')", "obj['name'] = value"),
        ("bpy.msgbus.publish_rna()", "link them with a driver"),
        ("from bpy.app.handlers import persistent", "animate with keyframes or drivers"),
        ("from bpy.app import timers", "do the work now"),
        ("from bpy.props import RemoveProperty", "obj['name'] = value"),
        ("import numpy as np; np.fromfile('a.bin')", "np.array([…])"),
        ("import numpy; numpy.save('a', 1)", "give array.tolist() back"),
        ("open('/etc/passwd')", "import_file"),
        ("import os; os.remove('a')", "remove_file"),
    ],
)
def test_what_scripts_do_not_get_is_found_before_any_run(
    text: str, said: str, around: str, index: rna.RnaIndex
) -> None:
    found = validate("import bpy\n" + around.format(text), index)
    assert not found.is_valid, text
    assert said in str(found.errors[0])


@pytest.mark.parametrize(
    "text",
    [
        "def load(path):\n    return bpy.data.images.load(path)",
        "def f():\n    bpy.app.timers.register(print)\nif len(bpy.data.objects) > 3:\n    f()",
        "try:\n    bpy.data.images.load('a')\nexcept Exception:\n    pass",
        "x = lambda: bpy.data.images.load('a')",
        "class A:\n    def f(self):\n        bpy.data.images.load('a')",
    ],
)
def test_what_may_never_be_done_is_a_warning(text: str, index: rna.RnaIndex) -> None:
    found = validate(f"import bpy\n{text}", index)
    assert found.is_valid
    assert len(found.warnings) == 1


def test_validation_and_guard_agree_on_every_member_of_every_struct(index: rna.RnaIndex) -> None:
    """What one refuses to give, the other does; so nothing is refused that would run, and nothing is missed."""
    members = guarded_members(policy("blender").level)
    different = []
    for struct in index.structs:
        kind = getattr(bpy.types, struct, None)
        if kind is None:
            continue
        for name in index.members(struct):
            if name in PLAIN_COLLECTION_METHODS | {
                "find"
            }:  # every collection has them, whatever its struct says
                continue
            refused_live = members.access(kind, name).read is None
            if refused_before(struct, name, index) != refused_live:
                different.append(f"{struct}.{name}")
    assert different == []


def refused_before(struct: str, name: str, index: rna.RnaIndex) -> bool:
    """Whether validation refuses to read this member."""
    checker = validate_module._Checker(ast.parse(""), "", index, policy("blender"))
    node = ast.parse(f"x.{name}", mode="eval").body
    assert isinstance(node, ast.Attribute)
    checker._member(struct, "x", name, node, False, store=False)
    return bool(checker._errors)


def test_validation_and_views_agree_on_every_name_of_blenders_modules(index: rna.RnaIndex) -> None:
    rules, meter = policy("blender"), Watchdog()
    script = compile_script("import addon_utils\nimport bpy\nimport bmesh\nimport bpy_extras.object_utils")
    given = build_guard(script, rules, BlenderHost(rules, meter), meter).imports
    different = []
    for module in sorted({name.rpartition(".")[0] for name in index.withheld}):
        view = given[module]
        for name in dir(import_module(module)):
            if name.startswith("_"):
                continue
            try:
                getattr(view, name)
                refused = False
            except ScriptStopped:
                refused = True
            if refused != (f"{module}.{name}" in index.withheld):
                different.append(f"{module}.{name}")
    assert len(index.withheld) > 50
    assert different == []


def test_the_collector_does_not_search_the_objects_of_blender_meanwhile(index: rna.RnaIndex) -> None:
    """A search of all objects stops the window for 70 ms, and a script's trees have many objects, so it would begin."""
    text = "\n".join(f"x{number} = bpy.data.objects['Cube'].location.x + {number}" for number in range(200))
    with collections() as began:
        assert check(text, index).is_valid
    assert len(began) <= 1  # one may begin as soon as it is on again
