# SPDX-License-Identifier: GPL-3.0-or-later
"""Every refusal says what to do instead, or that there is no other way, and names tools that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.facts import reasons
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.guard import modules
from bl_ext.user_default.mcp_bridge.sandbox.reference import rna
from bl_ext.user_default.mcp_bridge.server.tools import all_tools

POLICY = policy("blender")
#: How the part of a message begins that says what to do.
_DOING = frozenset(
    "add animate ask assign call change derive do give keep leave make merge read send set step use work write".split()
)


def advises(text: str) -> bool:
    """Whether a part of the text tells somebody to do something, or it says that nothing is to be done."""
    first = (part.strip().partition(" ")[0].rstrip(",") for part in re.split("[:;]", text))
    return "there is no other way" in text or not _DOING.isdisjoint(first)


def _refused_operators() -> Iterator[str]:
    for module in dir(bpy.ops):
        for name in dir(getattr(bpy.ops, module)):
            if not POLICY.gives_operator(f"{module}.{name}"):
                yield f"{module}.{name}"


def _refused_members() -> Iterator[tuple[str, str]]:
    """Members of Blender's structs that a script may neither read nor call, with the reason."""
    for struct in rna.current().structs:
        kind = getattr(bpy.types, struct, None)
        if kind is None:
            continue
        for name in [*kind.bl_rna.properties.keys(), *kind.bl_rna.functions.keys()]:
            if name not in POLICY.readable(struct) and not POLICY.gives_function(struct, name):
                yield f"{struct}.{name}", reasons.why_property([struct], name)


def test_every_reason_says_what_to_do() -> None:
    written = {
        where: text for where, text in reasons.all_reasons() if not where.startswith(("texts", "instead"))
    }
    assert len(written) > 200
    assert [where for where, text in written.items() if not advises(text)] == []


def test_every_refused_operator_and_member_says_what_to_do() -> None:
    operators = {idname: POLICY.why_operator(idname) for idname in _refused_operators()}
    members = dict(_refused_members())
    withheld = {path: reasons.why_blender(path) for path in rna.current().withheld}
    assert len(operators) > 500
    assert len(members) > 100
    assert len(withheld) > 50
    said = operators | members | withheld
    assert {name: text for name, text in said.items() if not advises(text)} == {}


def test_what_a_class_of_blenders_keeps_for_later_says_so() -> None:
    kinds = [getattr(bpy.types, name) for name in dir(bpy.types)]
    keeping = {
        f"{kind.__name__}.{name}": name
        for kind in kinds
        for name in dir(kind)
        if name in ("append", "prepend") or "handler" in name
        if callable(getattr(kind, name)) and name not in kind.bl_rna.functions
    }
    assert len(keeping) > 300  # menus, panels, headers, and drawing in each editor
    silent = {
        path
        for path, name in keeping.items()
        if "leaves no code behind" not in reasons.why_class_member(name)
    }
    assert silent == set()
    assert reasons.why_class_member("select_set") == "use it on an object instead"


def test_every_tool_that_a_reason_names_is_there() -> None:
    known = {tool.name for tool in all_tools()}
    named = re.compile(r"\btools? (\w+(?:(?:, | and | or )\w+)*)")
    for where, text in reasons.all_reasons():
        for found in named.findall(text):
            tools = {each for each in re.split(", | and | or ", found) if "_" in each}
            assert tools <= known, where


@pytest.mark.parametrize(
    ("idname", "tool"),
    [
        ("wm.alembic_export", "export_file"),
        ("wm.obj_export", "export_file"),
        ("wm.stl_import", "import_file"),
        ("wm.usd_import", "import_file"),
        ("export_scene.gltf", "export_file"),
        ("import_scene.fbx", "import_file"),
        ("wm.save_as_mainfile", "save_file"),
        ("wm.open_mainfile", "open_file"),
        ("image.open", "import_file"),
        ("preferences.keyconfig_import", "ask the user"),
        ("ptcache.bake", "frame_set(n)"),
    ],
)
def test_files_have_their_tools(idname: str, tool: str) -> None:
    assert tool in POLICY.why_operator(idname)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("subprocess", "write what it would do in Python"),
        ("bpy.props", "obj['name'] = value"),
        ("bpy.app.handlers", "animate with keyframes"),
        ("maths", "did you mean math?"),
        ("zlib", "write what it does in the script, with"),
    ],
)
def test_an_import_that_gives_nothing_says_what_to_do(name: str, advice: str) -> None:
    assert advice in modules.import_problem(name, POLICY.imports)


@pytest.mark.parametrize(
    ("kind", "name", "advice"),
    [
        ("GreasePencilStroke", "cyclic", "drawing.attributes"),
        ("GeometrySet", "mesh", "to_mesh()"),
        ("ndarray", "tofile", "tolist()"),
    ],
)
def test_a_member_of_a_value_says_what_to_do(kind: str, name: str, advice: str) -> None:
    assert advice in reasons.why_value(kind, name)
    assert advises(reasons.why_value(kind, "no_such_name"))
