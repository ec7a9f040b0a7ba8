# SPDX-License-Identifier: GPL-3.0-or-later
"""Node trees as data, and built again from it: the same tree for every type of node that this Blender has."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.errors import BridgeError, InvalidParamsError
from bl_ext.user_default.mcp_bridge.sandbox import execute
from bl_ext.user_default.mcp_bridge.scene import events, node_plan, node_tree
from bl_ext.user_default.mcp_bridge.server.tools import nodes, scripts

from support import node_variety

pytestmark = pytest.mark.usefixtures("empty_scene")

Json = dict[str, Any]


def _build(kind: node_tree.Kind, name: str, tree: Json, *, new: bool = False) -> Json:
    execute._rate.clear()
    plan = node_plan.plan(kind, name, tree, new=new)
    script = scripts.with_data(nodes._builder(), "PLAN", plan, "build")
    return execute.execute_blender_code({"code": script})


def _same(one: Json, other: Json) -> None:
    """Node by node, so that a failure shows which one differs."""
    for left, right in zip(one["nodes"], other["nodes"], strict=True):
        assert left == right
    assert one == other


def _material() -> Any:
    material = bpy.data.materials.new("M")
    if material.node_tree is None:
        material.use_nodes = True
    return material.node_tree


@pytest.mark.parametrize("turn", [0, 1, 2])
@pytest.mark.parametrize("tree_type", node_variety.TREES)
def test_every_type_of_node_comes_back_as_it_was(tree_type: str, turn: int) -> None:
    names = node_variety.every_type(tree_type)
    assert len(names) > 90
    for begin in range(0, len(names), 80):
        made = node_variety.filled(tree_type, names[begin : begin + 80], turn)
        for told in node_tree.read(made)["nodes"]:
            if told.get("keep"):  # they are kept, never made
                made.nodes.remove(made.nodes[told["name"]])
        told, before = node_tree.read(made), node_variety.snapshot(made)
        _build("node_group", "again", told, new=True)
        again = bpy.data.node_groups["again"]
        _same(node_tree.read(again), told)
        after = node_variety.snapshot(again)
        for part, value in before.items():
            assert after[part] == value
        bpy.data.node_groups.remove(again)


def test_a_material_in_its_place() -> None:
    tree = _material()
    frame = tree.nodes.new("NodeFrame")
    frame.label = "Colours"
    ramp = tree.nodes.new("ShaderNodeValToRGB")
    ramp.color_ramp.elements.new(0.3).color = (1, 0, 0, 1)
    ramp.parent = frame
    math = tree.nodes.new("ShaderNodeMath")
    math.operation, math.inputs[1].default_value = "POWER", 3.3
    link = tree.links.new(math.inputs[0], ramp.outputs[0])
    link.is_muted = True
    told, before = node_tree.read(tree), node_variety.snapshot(tree)
    assert told["links"][-1] == [ramp.name, "Color", "Math", "Value#1", "muted"]
    _build("material", "M", told)
    tree = bpy.data.materials["M"].node_tree
    _same(node_tree.read(tree), told)
    assert node_variety.snapshot(tree) == before


def _geometry() -> Any:
    tree = bpy.data.node_groups.new("G", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    panel = tree.interface.new_panel("More", default_closed=True)
    inner = tree.interface.new_panel("Inner")
    tree.interface.move_to_parent(inner, panel, 0)
    count = tree.interface.new_socket("Count", in_out="INPUT", socket_type="NodeSocketInt", parent=panel)
    count.default_value, count.max_value, count.description = 7, 70, "how many"
    menu = tree.interface.new_socket("Mode", in_out="INPUT", socket_type="NodeSocketMenu", parent=inner)
    entry, leave = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    join = tree.nodes.new("GeometryNodeJoinGeometry")
    for name in ("Cube", "IcoSphere", "Grid", "Cone"):
        mesh = tree.nodes.new(f"GeometryNodeMesh{name}")
        tree.links.new(mesh.outputs[0], join.inputs[0])
    switch = tree.nodes.new("GeometryNodeMenuSwitch")
    switch.enum_items.new("Third").description = "the last"
    tree.links.new(entry.outputs["Mode"], switch.inputs[0])
    menu.default_value = "Third"
    begin, end = tree.nodes.new("GeometryNodeRepeatInput"), tree.nodes.new("GeometryNodeRepeatOutput")
    begin.pair_with_output(end)
    end.repeat_items.new("FLOAT", "Sum")
    tree.links.new(entry.outputs["Count"], begin.inputs["Iterations"])
    tree.links.new(join.outputs[0], begin.inputs["Geometry"])
    tree.links.new(begin.outputs["Geometry"], end.inputs["Geometry"])
    tree.links.new(begin.outputs["Sum"], end.inputs["Sum"])
    tree.links.new(end.outputs["Geometry"], leave.inputs[0])
    begin.inputs["Sum"].default_value = 0.25
    first, last = (
        tree.nodes.new("GeometryNodeSimulationInput"),
        tree.nodes.new("GeometryNodeSimulationOutput"),
    )
    first.pair_with_output(last)
    last.state_items.new("VECTOR", "Speed")
    return tree


def test_zones_menus_panels_and_the_order_of_joined_geometry() -> None:
    tree = _geometry()
    told, before = node_tree.read(tree), node_variety.snapshot(tree)
    joined = [link[0] for link in told["links"] if link[2] == "Join Geometry"]
    assert len(joined) == 4
    _build("node_group", "H", told, new=True)
    again = bpy.data.node_groups["H"]
    _same(node_tree.read(again), told)
    for part, value in node_variety.snapshot(again).items():
        assert value == before[part]
    join = again.nodes["Join Geometry"].inputs[0]
    assert [link.from_node.name for link in join.links] == [
        link.from_node.name for link in tree.nodes["Join Geometry"].inputs[0].links
    ]


def test_who_uses_a_group_stays_linked_to_it() -> None:
    _geometry()
    bpy.ops.mesh.primitive_cube_add()
    modifier = bpy.context.object.modifiers.new("Nodes", "NODES")
    modifier.node_group = bpy.data.node_groups["G"]
    outer = bpy.data.node_groups.new("Outer", "GeometryNodeTree")
    user = outer.nodes.new("GeometryNodeGroup")
    user.node_tree = bpy.data.node_groups["G"]
    value = outer.nodes.new("FunctionNodeInputInt")
    outer.links.new(value.outputs[0], user.inputs["Count"])
    before = {s.name: s.identifier for s in user.inputs}
    told = node_tree.read(bpy.data.node_groups["G"])
    told["interface"].insert(
        1, {"name": "Seed", "in_out": "INPUT", "type": "NodeSocketInt", "default_value": 4}
    )
    _build("node_group", "G", told)
    user = bpy.data.node_groups["Outer"].nodes["Group"]
    after = {s.name: s.identifier for s in user.inputs}
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"Seed"}
    assert user.inputs["Count"].is_linked
    _same(node_tree.read(bpy.data.node_groups["G"]), told)


def test_a_group_in_a_group_with_blocks() -> None:
    inner = bpy.data.node_groups.new("Inner", "ShaderNodeTree")
    inner.interface.new_socket("Fac", in_out="INPUT", socket_type="NodeSocketFloat").default_value = 0.5
    image = bpy.data.images.new("Bark", 4, 4)
    tree = _material()
    user, picture = tree.nodes.new("ShaderNodeGroup"), tree.nodes.new("ShaderNodeTexImage")
    user.node_tree, picture.image = inner, image
    user.inputs["Fac"].default_value = 0.75
    told = node_tree.read(tree)
    shown = {node["type"]: node for node in told["nodes"]}
    assert shown["ShaderNodeGroup"]["inputs"] == {"Fac": 0.75}
    assert shown["ShaderNodeTexImage"]["properties"]["image"] == "Bark"
    _build("material", "M2", told, new=True)
    _same(node_tree.read(bpy.data.materials["M2"].node_tree), told)


def test_the_compositor_and_a_world() -> None:
    tree = {"type": "CompositorNodeTree", "nodes": [{"name": "B", "type": "CompositorNodeBlur"}], "links": []}
    _build("scene", bpy.context.scene.name, tree)
    _, made = node_tree.find_tree("scene", bpy.context.scene.name)
    assert [node.bl_idname for node in made.nodes] == ["CompositorNodeBlur"]
    world = {
        "nodes": [
            {"name": "Sky", "type": "ShaderNodeBackground", "inputs": {"Strength": 0.4}},
            {"name": "Out", "type": "ShaderNodeOutputWorld", "location": [200, 0]},
        ],
        "links": [["Sky", "Background", "Out", "Surface"]],
    }
    _build("world", "W", world, new=True)
    assert bpy.data.worlds["W"].node_tree.nodes["Sky"].inputs["Strength"].default_value == pytest.approx(0.4)


def test_a_node_that_runs_code_is_kept_and_never_made() -> None:
    tree = _material()
    script = tree.nodes.new("ShaderNodeScript")
    script.mode, script.filepath = "EXTERNAL", "//mine.osl"
    told = node_tree.read(tree)
    assert told["nodes"][-1] == {
        "name": "Script",
        "type": "ShaderNodeScript",
        "location": [0.0, 0.0],
        "keep": True,
    }
    told["nodes"][-1]["location"] = [50, 60]
    _build("material", "M", told)
    script = bpy.data.materials["M"].node_tree.nodes["Script"]
    assert (script.filepath, tuple(script.location)) == ("//mine.osl", (50, 60))
    with pytest.raises(
        InvalidParamsError, match="there is no such ShaderNodeScript in the tree that could be kept"
    ):
        _build("material", "M2", told, new=True)
    with pytest.raises(InvalidParamsError, match="a ShaderNodeScript runs code or works on files"):
        _build("material", "M", {"nodes": [{"name": "S", "type": "ShaderNodeScript"}]})


def _node(**more: Any) -> Json:
    return {"nodes": [{"name": "A", "type": "ShaderNodeMath", **more}]}


# ruff: noqa: E501
@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ({"nodes": [{"name": "A", "type": "ShaderNodeMat"}]}, "has no node of type 'ShaderNodeMat'. Did you mean 'ShaderNodeMath'"),
        ({"nodes": [{"name": "A", "type": "Object"}]}, "has no node of type 'Object'"),
        ({"nodes": [{"name": "A", "type": "__class__"}]}, "has no node of type '__class__'"),
        ({"nodes": [{"name": "A", "type": "GeometryNodeMeshCube"}]}, "a ShaderNodeTree has no node of type"),
        ({"nodes": [{"type": "ShaderNodeMath"}]}, "each node has a name and a type"),
        ({"nodes": ["A"]}, "each node has a name and a type"),
        (_node(properties={"operatio": "ADD"}), "'operatio' is not known. Did you mean 'operation'"),
        (_node(properties={"operation": "ADDD"}), "operation cannot be 'ADDD'. Did you mean 'ADD"),
        (_node(properties={"__class__": "x"}), "'__class__' is not known"),
        (_node(properties={"bl_idname": "x"}), "'bl_idname' is not known"),
        (_node(properties={"id_data": "x"}), "'id_data' is not known"),
        (_node(properties={"driver_add": "x"}), "'driver_add' is not known"),
        (_node(inputs={"Valu": 1}), "has no socket 'Valu' among its inputs. Did you mean 'Value'"),
        (_node(parent="B"), "parent: there is no node 'B'"),
        (_node(parent="A"), "its parent 'A' is no NodeFrame"),
        (_node(pairs_with="B"), "pairs_with: there is no node 'B'"),
        (_node(location=["a", 1]), "location is two numbers"),
        (_node(colour=1), "'colour' is not known"),
        (_node(hidden=["Value"]), "hidden is a list of inputs and a list of outputs"),
        ({"nodes": [{"name": "A" * 400, "type": "ShaderNodeMath"}]}, "bytes of a node's name"),
        ({**_node(), "nodes": _node()["nodes"] * 2}, "several nodes are named 'A'"),
        ({**_node(), "links": [["A", "Value", "B", "Value"]]}, "a link: there is no node 'B'"),
        ({**_node(), "links": [["A", "Value"]]}, "a link is [from node, output, to node, input]"),
        ({**_node(), "links": "x"}, "links is a list"),
        ({"type": "GeometryNodeTree", "nodes": []}, "type is ShaderNodeTree here"),
        ({"nodez": []}, "'nodez' is not known. Did you mean 'nodes'"),
        ({"nodes": [{"name": "A", "type": "ShaderNodeTexIES", "properties": {"filepath": "/etc/passwd"}}]}, "'filepath' is not known"),
        ({"nodes": [{"name": "A", "type": "ShaderNodeTexImage", "properties": {"image": "Nope"}}]}, "there is no Image 'Nope'"),
        ({"nodes": [{"name": "F", "type": "NodeFrame", "parent": "F"}]}, "is inside itself"),
        ({"nodes": [], "interface": [{"name": "x", "type": "NodeSocketFlat"}]}, "no socket here has the type 'NodeSocketFlat'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before_anything_changes(tree: Json, says: str) -> None:
    before = node_variety.snapshot(_material())
    with pytest.raises(InvalidParamsError) as caught:
        _build("material", "M", tree)
    assert says in str(caught.value)
    assert node_variety.snapshot(bpy.data.materials["M"].node_tree) == before
    assert not [g for g in bpy.data.node_groups if "scratch" in g.name]


def test_a_group_cannot_contain_itself() -> None:
    bpy.data.node_groups.new("Inner", "ShaderNodeTree")
    outer = bpy.data.node_groups.new("Outer", "ShaderNodeTree")
    outer.nodes.new("ShaderNodeGroup").node_tree = bpy.data.node_groups["Inner"]
    for name in ("Inner", "Outer"):
        tree = {"nodes": [{"name": "G", "type": "ShaderNodeGroup", "properties": {"node_tree": name}}]}
        with pytest.raises(InvalidParamsError, match=f"the group '{name}' would contain itself"):
            _build("node_group", "Inner", tree)


def test_what_only_the_build_can_find_rolls_everything_back() -> None:
    before = node_variety.snapshot(_material())
    tree = _node() | {"links": [["A", "Value", "A", "Nothing"]]}
    with pytest.raises(
        BridgeError, match=r"node 'A' has no socket 'Nothing' among its inputs; it has 'Value'"
    ):
        _build("material", "M", tree)
    assert node_variety.snapshot(bpy.data.materials["M"].node_tree) == before


def test_hostile_names_are_data() -> None:
    name = "'); import os; os.system('x') #\n\"\"\" \\ ünï"
    tree = {
        "nodes": [{"name": name[:60], "type": "NodeFrame", "properties": {"label": "{x} %s `"}}],
        "links": [],
    }
    _build("material", "M3", tree, new=True)
    made = bpy.data.materials["M3"].node_tree.nodes
    assert [node.name for node in made] == [name[:60]]


def test_reading_changes_nothing_that_a_yes_is_bound_to() -> None:
    tree = _material()
    node_tree._standards.clear()
    bpy.context.view_layer.update()
    groups, revision = len(bpy.data.node_groups), events.revision()
    node_tree.read(tree)
    bpy.context.view_layer.update()
    assert (len(bpy.data.node_groups), events.revision()) == (groups, revision)


def test_unknown_owners() -> None:
    _material()
    with pytest.raises(InvalidParamsError, match="There is no material 'N' in this file"):
        node_tree.find_tree("material", "N")
    with pytest.raises(InvalidParamsError, match="There is a material 'M' already"):
        _build("material", "M", _node(), new=True)
    with pytest.raises(InvalidParamsError, match="A new node group needs a type"):
        _build("node_group", "N", {"type": "Object", "nodes": []}, new=True)
