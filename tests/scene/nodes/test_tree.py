# SPDX-License-Identifier: GPL-3.0-or-later
"""Node trees as data, and built again from it: the same tree for every type of node that this Blender has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError, InvalidParamsError
from bl_ext.user_default.mcp_bridge.sandbox.blender.functions import checks
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.scene import events
from bl_ext.user_default.mcp_bridge.scene.nodes import plan as node_plan
from bl_ext.user_default.mcp_bridge.scene.nodes import tree as node_tree
from bl_ext.user_default.mcp_bridge.server.tools import nodes, scripts

from support.scenes import node_variety

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


def _types(tree_type: str) -> list[str]:
    """All types of nodes that this tree allows, but those that no script may make."""
    bench = bpy.data.node_groups.new("bench", tree_type)
    found = node_variety.every_type(bench)
    bpy.data.node_groups.remove(bench)
    return [name for name in found if name not in checks.EXPERIMENTAL_NODES | checks.CRASHING_NODES]


def _comes_back(made: Any, names: list[str], turn: int, build: Callable[[Json], Any]) -> None:
    """Nodes of these types, varied, are the same in the tree that `build` makes of what is read."""
    node_variety.fill(made, names, turn)
    for told in node_tree.read(made)["nodes"]:
        if told.get("keep"):  # they are kept, never made
            assert told["type"].startswith(node_tree.RUNS_OR_READS)
            made.nodes.remove(made.nodes[told["name"]])
    told, before = node_tree.read(made), node_variety.snapshot(made)
    again = build(told)
    _same(node_tree.read(again), told)
    after = node_variety.snapshot(again)
    for part, value in before.items():
        assert after[part] == value


@pytest.mark.parametrize("turn", [0, 1, 2])
@pytest.mark.parametrize("tree_type", node_variety.TREES)
def test_every_type_of_node_comes_back_as_it_was(tree_type: str, turn: int) -> None:
    names = _types(tree_type)
    assert len(names) > (30 if tree_type == "TextureNodeTree" else 90)

    def build(told: Json) -> Any:
        _build("node_group", "again", told, new=True)
        return bpy.data.node_groups["again"]

    for begin in range(0, len(names), 80):
        made = bpy.data.node_groups.new("filled", tree_type)
        _comes_back(made, names[begin : begin + 80], turn, build)
        bpy.data.node_groups.remove(bpy.data.node_groups["again"])


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_nodes_that_only_a_scene_takes_come_back_too(turn: int) -> None:
    scene, other = bpy.context.scene, bpy.data.scenes.new("Other")
    for owner in (scene, other):
        owner.view_layers[0].name = "Beauty"
        if hasattr(owner, "compositing_node_group"):
            owner.compositing_node_group = bpy.data.node_groups.new("Compositing", "CompositorNodeTree")
        else:
            owner.use_nodes = True
    _, tree = node_tree.find_tree("scene", scene.name)
    names = sorted({*node_variety.every_type(tree)} - {*_types("CompositorNodeTree")})
    own = ["CompositorNodeCryptomatteV2", "CompositorNodeRLayers"]
    assert names == ([] if bpy.app.version >= (5, 0) else own)

    def build(told: Json) -> Any:
        _build("scene", "Other", told)
        return node_tree.find_tree("scene", "Other")[1]

    _comes_back(tree, [*own, "CompositorNodeBlur"], turn, build)


def test_what_no_tree_takes_is_no_node_of_this_blender() -> None:
    benches = [bpy.data.node_groups.new("bench", kind) for kind in node_variety.TREES]
    taken = {name for bench in benches for name in node_variety.every_type(bench)}
    if bpy.app.version < (5, 0):
        taken |= {"CompositorNodeCryptomatteV2", "CompositorNodeRLayers"}
    kinds = {n for n in dir(bpy.types) if node_tree.node_kind(n)}
    for name in kinds - taken:
        with pytest.raises(RuntimeError, match=f"Node type {name} undefined"):
            benches[0].nodes.new(name)


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


def test_every_pair_of_nodes_that_makes_a_zone() -> None:
    tree = bpy.data.node_groups.new("G", "GeometryNodeTree")
    kinds = [
        n for n in _types("GeometryNodeTree") if "pair_with_output" in getattr(bpy.types, n).bl_rna.functions
    ]
    kinds = [n for n in kinds if n not in node_tree._CRASH_UNPAIRED]  # it cannot be asked what it belongs to
    assert len(kinds) >= 2
    for kind in kinds:
        for _ in range(2):
            begin, end = tree.nodes.new(kind), tree.nodes.new(kind.removesuffix("Input") + "Output")
            assert begin.pair_with_output(end)
            for prop in end.bl_rna.properties:
                if (
                    prop.type == "COLLECTION"
                    and prop.srna
                    and "socket_type" in prop.srna.functions["new"].parameters
                ):
                    getattr(end, prop.identifier).new("FLOAT", f"Mine {prop.identifier}")
            for source, target in ((begin.outputs, end.inputs), (begin.outputs, begin.inputs)):
                shared = {s.name: s for s in source if s.name.startswith("Mine")}
                for socket in target:
                    if socket.name in shared and target is end.inputs:
                        tree.links.new(socket, shared[socket.name])
                    elif socket.name in shared:
                        socket.default_value = 0.75
    told, before = node_tree.read(tree), node_variety.snapshot(tree)
    assert sum("pairs_with" in node for node in told["nodes"]) == 2 * len(kinds)
    _build("node_group", "H", told, new=True)
    again = bpy.data.node_groups["H"]
    _same(node_tree.read(again), told)
    for part, value in node_variety.snapshot(again).items():
        assert value == before[part]
    pairs = {n.name: n.paired_output.name for n in again.nodes if n.bl_idname in kinds and n.paired_output}
    assert pairs == {n["name"]: n["pairs_with"] for n in told["nodes"] if "pairs_with" in n}


def test_the_active_output_counts() -> None:
    tree = _material()
    tree.nodes.new("ShaderNodeOutputMaterial").target = "CYCLES"
    last = tree.nodes.new("ShaderNodeOutputMaterial")
    last.is_active_output = True
    told, active = node_tree.read(tree), [n.name for n in tree.nodes if getattr(n, "is_active_output", False)]
    _build("material", "M", told)
    tree = bpy.data.materials["M"].node_tree
    _same(node_tree.read(tree), told)
    assert [n.name for n in tree.nodes if getattr(n, "is_active_output", False)] == active


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


def _owner(kind: node_tree.Kind) -> Any:
    """A new owner of a node tree with its usual nodes; they are switched on, where they can be."""
    blocks = getattr(bpy.data, node_tree.KINDS[kind])
    more = {"light": ["AREA"], "texture": ["WOOD"]}.get(kind, [])
    made = blocks.new(f"{kind} of mine", *more)
    if made.node_tree is None:
        made.use_nodes = True
    return made


@pytest.mark.parametrize("kind", ["material", "world", "light", "linestyle", "texture"])
def test_every_owner_of_nodes(kind: node_tree.Kind) -> None:
    owner = _owner(kind)
    tree = owner.node_tree
    frame = tree.nodes.new("NodeFrame")
    frame.use_custom_color, frame.color, frame.width = True, (0.2, 0.3, 0.4), 321
    for node in tree.nodes:
        if node != frame:
            node.parent = frame
    told, before = node_tree.of_owner(kind, owner.name), node_variety.snapshot(tree)
    assert len(told["nodes"]) > 1
    _build(kind, owner.name, told)
    assert node_variety.snapshot(getattr(bpy.data, node_tree.KINDS[kind])[owner.name].node_tree) == before
    _build(kind, "Another", told, new=True)
    _same(node_tree.of_owner(kind, "Another"), told)


@pytest.mark.parametrize("kind", ["linestyle", "texture"])
def test_nodes_that_are_not_used(kind: node_tree.Kind) -> None:
    owner = _owner(kind)
    owner.use_nodes = False
    told = node_tree.of_owner(kind, owner.name)
    assert told["use_nodes"] is False
    _build(kind, owner.name, told)
    assert node_tree.of_owner(kind, owner.name) == told
    del told["use_nodes"]
    _build(kind, owner.name, told)
    assert getattr(bpy.data, node_tree.KINDS[kind])[owner.name].use_nodes
    assert node_tree.of_owner(kind, owner.name) == told


def test_links_that_blender_does_not_take_are_told() -> None:
    _material()
    tree = {
        "nodes": [
            {"name": "A", "type": "ShaderNodeMath"},
            {"name": "B", "type": "ShaderNodeBsdfDiffuse"},
            {"name": "C", "type": "ShaderNodeMath"},
        ],
        "links": [["B", "BSDF", "A", "Value#1"], ["A", "Value", "C", "Value#1"]],
    }
    done = _build("material", "M", tree)["result"]
    assert done == {"nodes": 3, "links": 2, "invalid_links": [["B", "BSDF", "A", "Value"]]}


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
        (_node(properties={"operation": 5}), "node 'A': operation cannot be '5'"),
        ({"type": "GeometryNodeTree", "nodes": [{"name": "H", "type": "GeometryNodeCurveSetHandles", "properties": {"mode": ["LEFFT"]}}]}, "node 'H': mode is a list of LEFT, RIGHT. Did you mean 'LEFT'"),
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
        ({**_node(), "links": [["A", "Value", "B", "Value"]]}, "link 1: there is no node 'B'"),
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
    bpy.data.node_groups.new("G", "GeometryNodeTree")
    of_group = tree.get("type") == "GeometryNodeTree" and tree["nodes"]
    with pytest.raises(InvalidParamsError) as caught:
        _build(*(("node_group", "G") if of_group else ("material", "M")), tree)
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


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"inputs": {"Value#1": "much"}}, "node 'A', input 'Value#1' cannot be 'much'"),
        ({"inputs": {"Value#1": [1, 2]}}, "node 'A', input 'Value#1' cannot be [1, 2]"),
        ({"hidden": [["Nothing"], []]}, "node 'A' has no socket 'Nothing' among its inputs"),
    ],
)
def test_what_the_build_finds_names_node_and_socket(more: Json, says: str) -> None:
    before = node_variety.snapshot(_material())
    with pytest.raises(BridgeError) as caught:
        _build("material", "M", _node(**more))
    assert says in str(caught.value)
    assert node_variety.snapshot(bpy.data.materials["M"].node_tree) == before


def test_a_panel_that_a_node_does_not_have_is_told() -> None:
    before = node_variety.snapshot(_material())
    with pytest.raises(BridgeError, match="node 'A' has no panel '77'; it has none"):
        _build("material", "M", _node(panels={"77": True}))
    assert node_variety.snapshot(bpy.data.materials["M"].node_tree) == before


def test_a_particle_system_that_an_object_does_not_have_is_told() -> None:
    """A newer Blender has no node that reads one: with the object unknown, nothing is near there."""
    before = node_variety.snapshot(_material())
    lawn = bpy.data.objects.new("Lawn", bpy.data.meshes.new("Lawn"))
    bpy.context.collection.objects.link(lawn)
    lawn.modifiers.new("Grass", "PARTICLE_SYSTEM")
    near = r" Did you mean 'Grass'\?" if hasattr(bpy.types, "ShaderNodeTexPointDensity") else ""
    for owner, more in (("Lawn", near), (None, "")):
        properties = {"object": owner, "particle_system": "Gras"}
        tree = {"nodes": [{"name": "A", "type": "ShaderNodeTexPointDensity", "properties": properties}]}
        with pytest.raises(InvalidParamsError, match=f"its object has no particle system 'Gras'\\.{more}"):
            _build("material", "M", tree)
    assert node_variety.snapshot(bpy.data.materials["M"].node_tree) == before


def test_what_is_wrong_within_a_part_is_told() -> None:
    _material()
    ramp = {"color_ramp": {"color_mode": "HSV", "interpolation": "SIDEWAYS"}}
    tree = {"nodes": [{"name": "A", "type": "ShaderNodeValToRGB", "properties": ramp}]}
    with pytest.raises(BridgeError, match="node 'A', color_ramp: interpolation cannot be 'SIDEWAYS'"):
        _build("material", "M", tree)


def test_hostile_names_are_data() -> None:
    name = "'); import os; os.system('x') #\n\"\"\" \\ ünï"
    tree = {
        "nodes": [{"name": name[:60], "type": "NodeFrame", "properties": {"label": "{x} %s `"}}],
        "links": [],
    }
    _build("material", "M3", tree, new=True)
    made = bpy.data.materials["M3"].node_tree.nodes
    assert [node.name for node in made] == [name[:60]]


@pytest.fixture
def watched() -> Iterator[None]:
    """Changes are counted, as they are while the server runs."""
    was = events.watching()
    if not was:
        events.register()
    yield
    if not was:
        events.unregister()


@pytest.mark.parametrize("kind", ["material", "scene"])
def test_reading_and_planning_change_nothing_that_a_yes_is_bound_to(
    kind: node_tree.Kind, watched: None
) -> None:
    _material()
    name = "M"
    if kind == "scene":
        name = bpy.context.scene.name
        _build("scene", name, {"nodes": [{"name": "B", "type": "CompositorNodeBlur"}]})
    node_tree._standards.clear()
    groups, revision = len(bpy.data.node_groups), events.settled()
    told = node_tree.of_owner(kind, name)
    assert events.settled() == revision
    node_plan.plan(kind, name, told, new=False)
    assert (len(bpy.data.node_groups), events.settled()) == (groups, revision)
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("New", None))
    assert events.settled() > revision


def test_unknown_owners() -> None:
    _material()
    with pytest.raises(InvalidParamsError, match="There is no material 'N' in this file"):
        node_tree.find_tree("material", "N")
    with pytest.raises(InvalidParamsError, match="There is a material 'M' already"):
        _build("material", "M", _node(), new=True)
    with pytest.raises(InvalidParamsError, match="A new node group needs a type"):
        _build("node_group", "N", {"type": "Object", "nodes": []}, new=True)
