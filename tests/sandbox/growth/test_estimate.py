# SPDX-License-Identifier: GPL-3.0-or-later
"""What is estimated, and what cannot be told beforehand: it is refused where nothing rehearses it."""

from __future__ import annotations

import ast
import json
import resource
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.growth import estimate, formulas

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_FILE = Path(formulas.__file__).parent.parent / "facts" / "growth.json"
_TABLES: dict[str, Any] = {
    title: table for title, table in json.loads(_FILE.read_text("utf-8")).items() if title
}
_EACH = [(title, name) for title, table in _TABLES.items() for name in table["formulas"]]
#: Names that are no settings of the modifier itself.
_ABOUT_THE_OBJECT = {"size", "extent", "longest"}


@pytest.mark.parametrize(("title", "names"), _EACH)
def test_each_formula_can_be_computed(title: str, names: str) -> None:
    """Of numbers for its names, and with functions that give numbers: it has no form that is not known."""
    text = _TABLES[title]["formulas"][names]
    called = {node.func.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)} - {"given"}
    own = {name: (lambda *_given: 2.0) for name in called - {"max", "min"}}
    for one in names.split():
        formula = formulas.formulas(title)[one]
        assert formula.value(lambda _name: 3.0, own) >= 0
        assert formula.value(lambda _name: 1e9, own) >= formula.value(lambda _name: 1.0, own) or "/" in text


@pytest.mark.parametrize("title", _TABLES)
def test_each_table_says_what_its_names_mean(title: str) -> None:
    assert _TABLES[title]["why"].endswith(".")


def test_settings_in_formulas_are_those_of_a_modifier() -> None:
    """A formula with a name that no modifier has would be one of nothing: by RNA, in this Blender."""
    kinds: list[Any] = [getattr(bpy.types, name) for name in dir(bpy.types) if name.endswith("Modifier")]
    known = {prop.identifier for kind in kinds for prop in kind.bl_rna.properties}
    assert known >= estimate.SETTINGS
    assert not estimate.SETTINGS & _ABOUT_THE_OBJECT


def test_a_formula_has_no_other_forms() -> None:
    with pytest.raises(ValueError, match="may not have"):
        formulas.Formula("a.b").value(lambda _name: 1.0)
    assert formulas.Formula("given(a, 5) + b").value(lambda _name: None) == 6.0
    assert formulas.Formula("10 ** a").value(lambda _name: 1e6) < 1e300


_TREE = """
t = bpy.data.node_groups.new("g", "GeometryNodeTree")
t.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
new, link = t.nodes.new, t.links.new
line, out = new("GeometryNodeMeshLine"), new("NodeGroupOutput")
line.count_mode = "TOTAL"
link(line.outputs[0], out.inputs[0])
{}
bpy.context.object.modifiers.new("n", "NODES").node_group = t
bpy.context.view_layer.update()
"""
_MANY = 'many = new("ShaderNodeMath"); many.operation = "MULTIPLY"; many.inputs[1].default_value = 1e5\n'
#: Counts that come over a link from what is not known before, or is known to be much.
_COUNTS = {
    "object": 'a = new("GeometryNodeObjectInfo"); a.inputs[0].default_value = bpy.data.objects["Camera"]\n'
    'link(a.outputs["Location"], many.inputs[0])',
    "text": 'a = new("FunctionNodeStringLength"); a.inputs[0].default_value = "x" * 60\n'
    "link(a.outputs[0], many.inputs[0])",
    "domain": 'b = new("GeometryNodeMeshGrid"); b.inputs["Vertices X"].default_value = 900\n'
    'a = new("GeometryNodeAttributeDomainSize"); link(b.outputs[0], a.inputs[0])\nlink(a.outputs[0], many.inputs[0])',
    "time": 'a = new("GeometryNodeInputSceneTime"); link(a.outputs["Frame"], many.inputs[0])',
    "attribute": 'a = new("GeometryNodeInputNamedAttribute"); link(a.outputs[0], many.inputs[0])',
    "statistic": 'a = new("GeometryNodeAttributeStatistic"); link(a.outputs["Max"], many.inputs[0])',
    "image": 'a = new("GeometryNodeImageInfo"); link(a.outputs["Width"], many.inputs[0])',
}


@pytest.mark.parametrize("count", _COUNTS.values(), ids=_COUNTS)
def test_a_count_that_is_not_known_has_to_be_rehearsed(count: str) -> None:
    with pytest.raises(LimitExceeded, match="rehears"):
        result(_TREE.format(_MANY + count + '\nlink(many.outputs[0], line.inputs["Count"])'))


@pytest.mark.parametrize(
    "count",
    [
        'a = new("FunctionNodeRandomValue"); link(a.outputs["Value"], line.inputs["Count"])',
        'a = new("ShaderNodeTexNoise"); link(a.outputs[0], line.inputs["Count"])',
        'a = new("FunctionNodeInputInt"); a.integer = 500; link(a.outputs[0], line.inputs["Count"])',
        'a = new("FunctionNodeStringLength"); link(a.outputs[0], line.inputs["Count"])',
        'a = new("GeometryNodeInputSceneTime"); link(a.outputs["Frame"], line.inputs["Count"])',
    ],
)
def test_a_small_count_is_made(count: str) -> None:
    assert result(_TREE.format(count) + "result = 'made'") == "made"


_CLOTH = (
    "bpy.ops.mesh.primitive_grid_add(x_subdivisions={0}, y_subdivisions={0})\n"
    "cloth = bpy.context.object.modifiers.new('c', 'CLOTH')\n"
    "cloth.collision_settings.use_self_collision = {1}\nbpy.context.scene.frame_set(3)"
)


_GRID = "bpy.ops.mesh.primitive_grid_add(x_subdivisions={0}, y_subdivisions={0})\no = bpy.context.object\n"
_COLLIDES = ".collision_settings.use_self_collision = True\n"
_ADDED = "c = o.modifiers.new('c', 'CLOTH')\nc" + _COLLIDES
_NEXT = "bpy.context.scene.frame_set(3)"
#: Ways to a cloth of many vertices that collides with itself, and to its evaluation.
_CLOTHS = {
    "grid": _GRID.format(350) + _ADDED + _NEXT,
    "frame that is set as a number": _GRID.format(350) + _ADDED + "bpy.context.scene.frame_current = 3",
    "left to whoever draws it": _GRID.format(350) + _ADDED,
    "added by an operator": _GRID.format(350)
    + "bpy.ops.object.modifier_add(type='CLOTH')\no.modifiers[0]" + _COLLIDES + _NEXT,
    "subdivided by a modifier before": _GRID.format(30)
    + "s = o.modifiers.new('s', 'SUBSURF')\ns.levels = 5\n" + _ADDED + _NEXT,
    "subdivided by a modifier that is moved before": _GRID.format(30) + _ADDED
    + "s = o.modifiers.new('s', 'SUBSURF')\ns.levels = 5\no.modifiers.move(1, 0)\n" + _NEXT,
    "another mesh in its place": _GRID.format(350) + "many = o.data\n" + _GRID.format(5) + _ADDED
    + "o.data = many\n" + _NEXT,
    "subdivided in edit mode": _GRID.format(30) + _ADDED
    + "bpy.ops.object.mode_set(mode='EDIT')\nbpy.ops.mesh.subdivide(number_cuts=15)\n"
    "bpy.ops.object.mode_set(mode='OBJECT')\n" + _NEXT,
}  # fmt: skip


def _refusal(script: str, *, memory: int) -> str:
    """Run a script in a Blender of its own with so many bytes of memory; return its refusal, or "made"."""

    def refused() -> str:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        try:
            result(script)
        except LimitExceeded as error:
            return str(error)
        return "made"

    return fork.run(refused)


@pytest.mark.parametrize("script", _CLOTHS.values(), ids=_CLOTHS)
def test_cloth_that_collides_with_itself_is_estimated(script: str) -> None:
    assert "rehears" in _refusal(script, memory=8 << 30)


def test_a_small_cloth_runs() -> None:
    result(_CLOTH.format(20, True))
    assert bpy.context.scene.frame_current == 3


#: What a script does to the names of a mesh, after it has filled it.
_RENAMED = {
    "same name": "",
    "renamed": "o.name, o.data.name = 'other', 'another'\n",
    "another in its place": "old = o.data.name\no.data.name = 'other'\nbpy.data.meshes.new(old)\n",
    "a copy in its place": "c, old = o.copy(), o.name\nbpy.context.collection.objects.link(c)\n"
    "bpy.data.objects.remove(o)\nc.name = old\n",
    "another object in its place": "old = o.name\no.name = 'x'\no.data.name = 'y'\n"
    "bpy.data.objects.new(old, bpy.data.meshes.new('Cube'))\n",
}


@pytest.mark.parametrize("names", _RENAMED.values(), ids=_RENAMED)
def test_a_mesh_that_was_filled_is_estimated_under_any_name(names: str) -> None:
    script = (
        "o = bpy.context.object\no.modifiers.new('a', 'ARRAY').count = 1000\n"
        "o.data.clear_geometry()\n"
        f"o.data.from_pydata([(i, 0, 0) for i in range(100_000)], [], [])\n{names}bpy.context.view_layer.update()"
    )

    assert "vertices, more than" in _refusal(script, memory=4 << 30)
