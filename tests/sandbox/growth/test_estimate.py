# SPDX-License-Identifier: GPL-3.0-or-later
"""What is estimated, and what cannot be told beforehand: it is refused where nothing rehearses it."""

from __future__ import annotations

import ast
import gc
import json
import resource
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.growth import estimate, formulas, instances
from bl_ext.user_default.mcp_bridge.sandbox.guard.measured import UNKNOWN
from bl_ext.user_default.mcp_bridge.scene import keyframes

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


_EXTREME = (-1.0, -3.0, -1e9, 0.0, 1e-30, -1e-30, 1e9, 1e14, True)
_NOT_KNOWN = (float("nan"), float("inf"), -float("inf"), UNKNOWN, -1e300, 10**400)


@pytest.mark.parametrize(("title", "names"), _EACH)
def test_no_number_that_a_formula_reads_makes_it_small(title: str, names: str) -> None:
    """With each of its numbers negative, extreme or not known, and the result of each function, one at a time."""
    text = _TABLES[title]["formulas"][names]
    called = {node.func.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)}
    called -= {"given", "max", "min", "sum", "norm"}
    formula = formulas.formulas(title)[names.split()[0]]
    everything = [*formula.names, *called]

    def value(changed: str, number: float) -> float:
        given: dict[str, Any] = dict.fromkeys(everything, 3.0)
        given |= {name: number for name in everything if name == changed}
        given |= {name: [given[name]] * 3 for name in _LISTS & set(everything)}
        own = {name: (lambda *_given, name=name: given[name]) for name in called}
        return formula.value(given.__getitem__, own)

    for name in everything:
        for number in _EXTREME:
            found = value(name, number)
            assert found >= 0.0
            assert found == value(name, abs(number)), (name, number)
        for number in _NOT_KNOWN:
            reads = any(value(name, each) != value(name, 3.0) for each in (0.0, 1.0, 1e6))
            if reads:
                assert value(name, number) >= UNKNOWN, (name, number)


_LISTS = {"use_axis", "constant_offset_displace", "relative_offset_displace"}
"""Settings that are several numbers."""


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


def _estimated(script: str, estimated: str = "bpy.context.object") -> float:
    """Return the estimate of an object that a script makes, in a Blender of its own that never evaluates it."""

    def attempt() -> float:
        names: dict[str, Any] = {"bpy": bpy}
        exec(script, names)
        return estimate.estimate(eval(estimated, names))

    return fork.run(attempt)


def _nested(depth: int, *, twice: bool = False, kind: str = "GeometryNodeTree") -> str:
    """Return a script that nests as many groups in one another, and gives the outermost to a modifier."""
    return f"""
def group(inner):
    t = bpy.data.node_groups.new("g", {kind!r})
    t.interface.new_socket("in", in_out="INPUT", socket_type="NodeSocketGeometry")
    t.interface.new_socket("out", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    begin, out = t.nodes.new("NodeGroupInput"), t.nodes.new("NodeGroupOutput")
    last = begin.outputs[0]
    for _ in range({2 if twice else 1}):
        if inner is None:
            node = t.nodes.new("GeometryNodeSubdivideMesh")
            node.inputs["Level"].default_value = 1
        else:
            node = t.nodes.new("GeometryNodeGroup")
            node.node_tree = inner
        t.links.new(last, node.inputs[0])
        last = node.outputs[0]
    t.links.new(last, out.inputs[0])
    return t

t = None
for _ in range({depth}):
    t = group(t)
bpy.context.object.modifiers.new("n", "NODES").node_group = t
"""


def test_groups_in_groups_are_followed() -> None:
    """A cube of 8 vertices, subdivided once by the innermost of thirty groups: the node is found at any depth."""
    assert _estimated(_nested(30)) == 32.0


def test_more_groups_than_are_followed_are_not_known() -> None:
    assert _estimated(_nested(12, twice=True)) >= UNKNOWN  # 4096 groups, each with another geometry


@pytest.mark.parametrize("depth", [30, 300])
def test_an_estimate_leaves_no_cycle_behind(depth: int) -> None:
    """The collector is off while a script runs: what holds itself would stay, and count as held by the script."""

    def attempt() -> int:
        exec(_nested(depth), {"bpy": bpy})
        exec(_nested(5, twice=True), {"bpy": bpy})
        user = bpy.context.object
        estimate.estimate(user)
        gc.collect()
        gc.disable()
        estimate.estimate(user)
        return gc.collect()

    assert fork.run(attempt) == 0


def _in_a_row(count: int) -> str:
    """Return a script that makes a mesh object of each from the next one, by a boolean modifier twice."""
    return f"""
before = None
for i in range({count}):
    o = bpy.data.objects.new("o", bpy.data.meshes.new("o"))
    o.data.from_pydata([(0, 0, 0)] * 3, [], [])
    for _ in range(2):
        if before is not None:
            m = o.modifiers.new("b", "BOOLEAN")
            m.solver, m.object = "{"FLOAT" if bpy.app.version >= (5, 0) else "FAST"}", before
    before = o
last = before
"""


def test_objects_that_many_are_made_from_are_estimated_once() -> None:
    """Twenty objects, of which each is made from the next one twice: to follow a million paths would take minutes."""
    assert UNKNOWN > _estimated(_in_a_row(20), "last") > 2.0**20


def test_a_row_of_objects_longer_than_can_be_followed_is_not_known() -> None:
    assert _estimated(_in_a_row(3000), "last") >= UNKNOWN


def test_objects_that_are_made_from_one_another_are_not_known() -> None:
    circle = 'bpy.data.objects["o"].modifiers.new("b", "BOOLEAN").object = last'
    assert _estimated(_in_a_row(3) + circle, "last") >= UNKNOWN


def test_an_object_among_those_that_it_is_made_from_counts_once() -> None:
    cube = bpy.context.object
    modifier = cube.modifiers.new("b", "BOOLEAN")
    modifier.operand_type, modifier.collection = "COLLECTION", cube.users_collection[0]
    assert estimate.estimate(cube) < 100.0


_NODES_IN_A_ROW = """
tree = bpy.data.node_groups.new("g", "GeometryNodeTree")
tree.interface.new_socket("out", in_out="OUTPUT", socket_type="NodeSocketGeometry")
last = tree.nodes.new("GeometryNodeMeshLine").outputs[0]
for _ in range(400):
    node = tree.nodes.new("GeometryNodeSetShadeSmooth")
    tree.links.new(last, node.inputs[0])
    last = node.outputs[0]
tree.links.new(last, tree.nodes.new("NodeGroupOutput").inputs[0])
bpy.context.object.modifiers.new("n", "NODES").node_group = tree
"""


def test_a_row_of_nodes_longer_than_can_be_followed_is_not_known() -> None:
    assert _estimated(_NODES_IN_A_ROW) >= UNKNOWN


def test_a_row_of_instances_longer_than_can_be_followed_is_not_known() -> None:
    def attempt() -> float:
        before = None
        for _ in range(3000):
            inner = bpy.data.collections.new("c")
            if before is not None:
                holder = bpy.data.objects.new("i", None)
                holder.instance_type, holder.instance_collection = "COLLECTION", before
                inner.objects.link(holder)
            before = inner
        return instances.instances([holder])

    assert fork.run(attempt) >= UNKNOWN


@pytest.mark.parametrize("name", ["constant_offset_displace", "relative_offset_displace", "fit_type"])
def test_an_animated_setting_that_is_not_followed_is_not_known(name: str) -> None:
    cube = bpy.context.object
    array = cube.modifiers.new("a", "ARRAY")
    array.fit_type = "FIT_LENGTH"
    assert estimate.estimate(cube) < 1000.0
    cube.keyframe_insert(f'modifiers["a"].{name}')
    assert estimate.estimate(cube) >= UNKNOWN


def test_an_animated_input_of_a_group_counts_with_its_keyframes() -> None:
    cube = bpy.context.object
    tree = bpy.data.node_groups.new("g", "GeometryNodeTree")
    tree.interface.new_socket("out", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    count = tree.interface.new_socket("count", in_out="INPUT", socket_type="NodeSocketInt")
    line, begin = tree.nodes.new("GeometryNodeMeshLine"), tree.nodes.new("NodeGroupInput")
    tree.links.new(begin.outputs[0], line.inputs["Count"])
    tree.links.new(line.outputs[0], tree.nodes.new("NodeGroupOutput").inputs[0])
    modifier: Any = cube.modifiers.new("n", "NODES")
    modifier.node_group = tree
    path = f'modifiers["n"]["{count.identifier}"]'
    if bpy.app.version >= (5, 2):
        path = f'modifiers["n"].properties.inputs.{count.identifier}.value'
    assert cube.keyframe_insert(path, frame=1)
    assert estimate.estimate(cube) < 1000.0
    (curve,) = keyframes.curves_of_action(cube.animation_data.action)
    curve.keyframe_points[0].co.y = 50_000.0
    assert estimate.estimate(cube) >= 50_000.0


_PARTICLES = """
o = bpy.context.object
o.modifiers.new("p", "PARTICLE_SYSTEM")
p = o.particle_systems[0]
s = p.settings
{}
{}
"""
#: The last of the settings that together make a particle system compute many frames at once.
_FAR_LAST = {
    "first frame": ("s.frame_end = s.lifetime = 1000\ns.count = 100_000", "s.frame_start = -100_000"),
    "count": ("s.frame_start = -10_000", "s.count = 100_000"),
    "subframes": ("s.count, s.frame_start = 10_000, -700", "s.subframes = 30"),
    "boids": ("s.count, s.frame_start = 10_000, -700", "s.physics_type = 'BOIDS'"),
    "fluid": ("s.count, s.frame_start = 10_000, -700", "s.physics_type = 'FLUID'"),
    "cache": ("s.count = 100_000", "p.point_cache.frame_start = 10_000"),
    "settings": (
        "t = bpy.data.particles.new('t')\nt.count, t.frame_start = 100_000, -10_000",
        "p.settings = t",
    ),
}


@pytest.mark.parametrize("follows", ["bpy.context.scene.frame_set(1)", "bpy.context.view_layer.update()", ""])
@pytest.mark.parametrize("name", _FAR_LAST)
def test_particles_of_many_frames_at_once_have_to_be_rehearsed(name: str, follows: str) -> None:
    before, last = _FAR_LAST[name]
    result(
        _PARTICLES.format("bpy.context.view_layer.update()", "s.count = 2000\ns.frame_start = -100") + follows
    )
    with pytest.raises(LimitExceeded, match="rehears"):
        result(_PARTICLES.format(before, last) + follows)


_SIMULATED = """
t = bpy.data.node_groups.new("g", "GeometryNodeTree")
t.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
new, link = t.nodes.new, t.links.new
cube, begin, end = new("GeometryNodeMeshCube"), new("GeometryNodeSimulationInput"), new("GeometryNodeSimulationOutput")
begin.pair_with_output(end)
link(cube.outputs[0], begin.inputs["Geometry"])
body = new({!r})
link(begin.outputs["Geometry"], body.inputs[0])
link(body.outputs[0], end.inputs["Geometry"])
link(end.outputs["Geometry"], new("NodeGroupOutput").inputs[0])
bpy.context.object.modifiers.new("n", "NODES").node_group = t
bpy.context.scene.frame_set(2)
"""


def test_a_simulation_that_multiplies_with_each_frame_has_to_be_rehearsed() -> None:
    result(_SIMULATED.format("GeometryNodeSetPosition"))
    with pytest.raises(LimitExceeded, match="rehears"):
        result(_SIMULATED.format("GeometryNodeSubdivideMesh"))
