# SPDX-License-Identifier: GPL-3.0-or-later
"""A script makes no layer of 4 × 4 matrices: Blender before 5.2 would crash when it changes the mesh."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender.layers.matrices import (
    CRASHES,
    ITEM_FUNCTIONS,
    NODES,
    TYPES,
)
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")
crashing = pytest.mark.skipif(not CRASHES, reason="this Blender does not crash")

_REFUSED = "this Blender crashes when it changes a mesh with a layer of 4 x 4 matrices"
_NAMES = frozenset({"FLOAT4X4", "MATRIX"})
_START = "o = bpy.data.objects['Cube']\nm = o.data\n"
_GROUP = "g = bpy.data.node_groups.new('g', 'GeometryNodeTree')\n"


@pytest.mark.parametrize("domain", ["POINT", "EDGE", "FACE", "CORNER"])
def test_plain_blender_crashes_of_such_a_layer_in_each_domain(domain: str) -> None:
    def change() -> str:
        cube: Any = bpy.data.objects["Cube"]
        other = bpy.data.objects.new("other", cube.data.copy())
        other.location = 0.3, 0.2, 0.1
        bpy.context.collection.objects.link(other)
        cube.data.attributes.new("number", "FLOAT", domain)
        cube.data.attributes.new("matrix", "FLOAT4X4", domain)
        modifier: Any = cube.modifiers.new("changed", "BOOLEAN")
        modifier.object = other
        modifier.solver = "FAST" if bpy.app.version < (5, 0) else "FLOAT"
        cube.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
        return "changed"

    if CRASHES:
        with pytest.raises(fork.Died, match="SIGSEGV"):
            fork.run(change)
    else:
        assert fork.run(change) == "changed"


# --- every way, as RNA names them -------------------------------------------------------------------------------


def _types(prop: Any) -> frozenset[str]:
    """The values of an enum that stand for matrices, whether they depend on what has it or not."""
    if prop.type != "ENUM":
        return frozenset()
    return _NAMES & ({item.identifier for item in prop.enum_items_static} | set(prop.enum_items.keys()))


def _structs() -> list[Any]:
    return [kind for name in dir(bpy.types) if "bl_rna" in dir(kind := getattr(bpy.types, name))]


def _functions() -> set[str]:
    return {
        f"{kind.bl_rna.identifier}.{function.identifier}"
        for kind in _structs()
        for function in kind.bl_rna.functions
        if any(_types(p) for p in function.parameters if not p.is_output)
    }


def _properties() -> set[str]:
    """What a script may write, but for what nodes compute with: see the walk of nodes."""
    return {
        f"{kind.bl_rna.identifier}.{prop.identifier}"
        for kind in _structs()
        if not issubclass(kind, bpy.types.Node)
        for prop in kind.bl_rna.properties
        if _types(prop)
        and not prop.is_readonly
        and prop.identifier in policy("blender").writable(kind.bl_rna.identifier)
    }


def _exists(path: str) -> bool:
    struct, _, name = path.partition(".")
    kind = getattr(bpy.types, struct, None)
    return (
        kind is not None and (kind.bl_rna.properties.get(name) or kind.bl_rna.functions.get(name)) is not None
    )


#: What passes a value on, or reads it: it lies on no geometry. Grids, files and the viewer's picture are no layers.
#: Before 5.0 some are called NodeGeometry….
_PASSED_ON = frozenset(
    "ForeachGeometryElementInputItem GeometryAttributeConstraint GeometryNodeFieldToGridItem "
    "NodeClosureInputItem NodeClosureOutputItem NodeCombineBundleItem NodeCompositorFileOutputItem "
    "NodeEvaluateClosureInputItem NodeEvaluateClosureOutputItem NodeForeachGeometryElementInputItem "
    "NodeFunctionFormatStringItem NodeRepeatOutputItem NodeSeparateBundleItem NodeViewerItem RepeatItem".split()
)


def _is_passed_on(path: str) -> bool:
    return path.partition(".")[0].replace("NodeGeometry", "Node").replace("Items", "Item") in _PASSED_ON


_OF_NODE, _OF_GROUP = "GeometryNodeStoreNamedAttribute.data_type", "NodeTreeInterfaceSocket.socket_type"
_BACK = "NodeSocket.type"  # Blender sets it back: see below
_NEW = "AttributeGroup"


@crashing
def test_each_item_that_may_be_a_matrix_is_refused_or_passes_it_on() -> None:
    properties = {path for path in _properties() if not _is_passed_on(path)}
    assert properties - {_BACK} == set(filter(_exists, TYPES)) - {_OF_NODE, _OF_GROUP}
    functions = {path for path in _functions() if not _is_passed_on(path)}
    assert {path for path in functions if not path.startswith(_NEW)} == set(filter(_exists, ITEM_FUNCTIONS))
    assert {f"{name}.new" for name in dir(bpy.types) if name.startswith(_NEW)} >= functions - ITEM_FUNCTIONS


@crashing
def test_the_operators_that_may_make_such_a_layer_are_refused() -> None:
    found = {
        f"{module}.{name}"
        for module in dir(bpy.ops)
        for name in dir(getattr(bpy.ops, module))
        if policy("blender").gives_operator(f"{module}.{name}")
        and any(_types(prop) for prop in getattr(getattr(bpy.ops, module), name).get_rna_type().properties)
    }
    assert found == {"geometry.attribute_add", "geometry.attribute_convert"}
    for call in (
        "attribute_add(name='m', data_type='FLOAT4X4')",
        "attribute_add(name='m', domain='CORNER', data_type='FLOAT4X4')",
        "attribute_convert(domain='POINT', data_type='FLOAT4X4')",
    ):
        with pytest.raises(Exception, match=f"{_REFUSED}.*'FLOAT_COLOR'"):
            result(_START + f"bpy.ops.geometry.{call}")


#: Nodes with a geometry and a matrix beside it: whether they store it as a layer is decided by hand.
_BESIDE = frozenset(
    "GeometryNodeGizmoTransform GeometryNodeObjectInfo GeometryNodeSetInstanceTransform GeometryNodeTransform".split()
)


def _nodes() -> Iterator[tuple[Any, str]]:
    """Each node of Geometry Nodes in a group of its own, as it is and with each setting that may say matrix."""
    for kind in _structs():
        if issubclass(kind, bpy.types.Node):
            settings = [p for p in kind.bl_rna.properties if not p.is_readonly and p.type == "ENUM"]
            node = _node(kind.__name__)
            if node is not None:
                yield node, ""
                for setting in settings:
                    for value in sorted(_types(setting)):
                        try:
                            setattr(node, setting.identifier, value)
                        except TypeError:  # listed, but not for this node
                            continue
                        yield node, f"{kind.__name__}.{setting.identifier}"


def _node(kind: str) -> Any:
    group: Any = bpy.data.node_groups.new("group", "GeometryNodeTree")
    try:
        return group.nodes.new(kind)
    except RuntimeError:
        return None


def _has(sockets: Any, kind: str) -> bool:
    return any(socket.type == kind and socket.enabled for socket in sockets)


@crashing
def test_no_other_node_has_a_matrix_and_gives_a_geometry() -> None:
    found = {
        setting or node.bl_idname
        for node, setting in _nodes()
        if _has(node.outputs, "GEOMETRY") and (_has(node.inputs, "MATRIX") or _has(node.outputs, "MATRIX"))
    }
    found = {path for path in found if path.partition(".")[0] not in _BESIDE}
    assert found == {_OF_NODE}


# --- each is refused --------------------------------------------------------------------------------------------

_ITEMS = {
    "NodeGeometryBakeItem": "g.nodes.new('GeometryNodeBake').bake_items",
    "NodeGeometryCaptureAttributeItem": "g.nodes.new('GeometryNodeCaptureAttribute').capture_items",
    "ForeachGeometryElementGenerationItem": "g.nodes.new('GeometryNodeForeachGeometryElementOutput').generation_items",
    "ForeachGeometryElementMainItem": "g.nodes.new('GeometryNodeForeachGeometryElementOutput').main_items",
    "SimulationStateItem": "g.nodes.new('GeometryNodeSimulationOutput').state_items",
}
_WRITES = {
    **{
        f"{item}.socket_type": f"{items}.new('FLOAT', 'x').socket_type = 'MATRIX'"
        for item, items in _ITEMS.items()
    },
    "NodeGeometryCaptureAttributeItem.data_type": f"{_ITEMS['NodeGeometryCaptureAttributeItem']}.new('FLOAT', 'x')"
    ".data_type = 'FLOAT4X4'",
    _OF_NODE: "g.nodes.new('GeometryNodeStoreNamedAttribute').data_type = 'FLOAT4X4'",
    _OF_GROUP: "g.interface.new_socket('x', in_out='OUTPUT', socket_type='NodeSocketFloat')"
    ".socket_type = 'NodeSocketMatrix'",
}


@crashing
def test_each_type_of_a_layer_that_nodes_make_is_refused() -> None:
    for path in filter(_exists, TYPES):
        for write in (_WRITES[path], _WRITES[path][:-1] + "\\0x'"):
            with pytest.raises(Exception, match=f"{_REFUSED}.*Separate Transform"):
                result(_GROUP + write)


@crashing
def test_each_function_that_makes_a_layer_of_nodes_is_refused() -> None:
    items = [item for item in _ITEMS if hasattr(bpy.types, item)]
    assert len(items) == len(list(filter(_exists, ITEM_FUNCTIONS)))
    for item in items:
        for arguments in ("'MATRIX', 'x'", "socket_type='MATRIX', name='x'", "'MATRIX\\0x', 'x'"):
            with pytest.raises(Exception, match=f"{_REFUSED}.*Separate Transform"):
                result(f"{_GROUP}{_ITEMS[item]}.new({arguments})")
        result(f"{_GROUP}{_ITEMS[item]}.new('FLOAT', 'x')")


@crashing
@pytest.mark.parametrize(
    "attributes",
    [
        "m.attributes",
        "bpy.data.hair_curves.new('x').attributes",
        "bpy.data.pointclouds.new('x').attributes" if bpy.app.version >= (4, 5) else "m.color_attributes",
    ],
)
def test_no_attributes_take_such_a_layer(attributes: str) -> None:
    for arguments in ("'x', 'FLOAT4X4', 'POINT'", "name='x', type='FLOAT4X4\\0x', domain='POINT'"):
        with pytest.raises(Exception, match=f"{_REFUSED}.*'FLOAT_COLOR'"):
            result(f"{_START}{attributes}.new({arguments})")
    result(f"{_START}{attributes}.new('x', 'FLOAT_COLOR', 'POINT')")


@crashing
def test_no_group_gives_out_a_matrix_that_may_become_a_layer() -> None:
    made = f"{_GROUP}g.interface.new_socket("
    for arguments in (
        "'x', in_out='OUTPUT', socket_type='NodeSocketMatrix'",
        "name='x', socket_type='NodeSocketMatrix\\0x', in_out='OUTPUT\\0x'",
        "'x', description='', in_out='OUTPUT', socket_type='NodeSocketMatrix'",
    ):
        with pytest.raises(Exception, match=f"{_REFUSED}.*Separate Transform"):
            result(f"{made}{arguments})")
    result(f"{made}'x', in_out='INPUT', socket_type='NodeSocketMatrix')")
    result(f"{made}'x', in_out='INPUT', socket_type='NodeSocketFloat').socket_type = 'NodeSocketMatrix'")
    assert bpy.types.NodeTreeInterfaceSocket.bl_rna.properties["in_out"].is_readonly


@crashing
def test_nothing_animates_the_type_of_a_layer() -> None:
    for path in filter(_exists, TYPES):
        struct, name = path.split(".")
        prop: Any = getattr(bpy.types, struct).bl_rna.properties[name]
        assert prop.type == "STRING" or not prop.is_animatable, path


@crashing
def test_blender_sets_back_the_type_of_a_socket() -> None:
    node = _node("GeometryNodeStoreNamedAttribute")
    value = node.inputs["Value"]
    value.type = "MATRIX"
    assert not _has(node.inputs, "MATRIX")


# --- links that make items --------------------------------------------------------------------------------------

_DYNAMIC = "handle_dynamic_sockets" in bpy.types.NodeLinks.bl_rna.functions["new"].parameters
_LINK = """
n = g.nodes.new(KIND)
if hasattr(n, 'pair_with_output') and 'Closure' not in KIND:  # in Blender 4.5 they crash
    n.pair_with_output(g.nodes.new(KIND[:-len('Input')] + 'Output'))
sockets = [s for s in (n.inputs if INTO else n.outputs) if s.bl_idname == 'NodeSocketVirtual']
s = sockets[NUMBER] if NUMBER < len(sockets) else None
if s is not None and INTO:
    g.links.new(g.nodes.new('FunctionNodeCombineMatrix').outputs[0], s, handle_dynamic_sockets=True)
elif s is not None:
    g.links.new(s, g.nodes.new('FunctionNodeSeparateMatrix').inputs[0], handle_dynamic_sockets=True)
"""


def _has_made(group: Any) -> bool:
    """Whether a node has an item, or the group an output, that is a matrix and may become a layer."""
    items = [
        item
        for node in group.nodes
        for prop in node.bl_rna.properties
        if prop.type == "COLLECTION"
        for item in getattr(node, prop.identifier)
    ]
    items += [item for item in group.interface.items_tree if getattr(item, "in_out", "") == "OUTPUT"]
    return any(
        getattr(item, name, "") in {*_NAMES, "NodeSocketMatrix"}
        for item in items
        for name in ("socket_type", "data_type")
        if f"{item.bl_rna.identifier}.{name}" in TYPES
        or item.bl_rna.identifier.startswith("NodeTreeInterface")
    )


@crashing
@pytest.mark.skipif(not _DYNAMIC, reason="this Blender makes no sockets for links of scripts")
def test_no_link_makes_an_item_that_becomes_such_a_layer() -> None:
    makers = set()
    kinds = sorted({node.bl_idname for node, _ in _nodes()})
    for kind, into, number in itertools.product(kinds, (True, False), (0, 1)):
        link = f"KIND, INTO, NUMBER = {kind!r}, {into}, {number}\n{_LINK}"
        group = bpy.data.node_groups.new("group", "GeometryNodeTree")
        exec(link, {"g": group})
        if _has_made(group):
            makers.add(kind)
            with pytest.raises(Exception, match=f"{_REFUSED}.*Separate Transform"):
                result(_GROUP + link)
    assert makers == {kind for kind in NODES if hasattr(bpy.types, kind)}
    with pytest.raises(TypeError, match="keyword argument"):  # so that it is seen where it is asked for
        group.links.new(_node("NodeReroute").outputs[0], _node("NodeReroute").inputs[0], True, True)


def test_matrices_that_are_no_layers_are_computed_with() -> None:
    code = """
g.interface.new_socket('in', in_out='INPUT', socket_type='NodeSocketGeometry')
g.interface.new_socket('out', in_out='OUTPUT', socket_type='NodeSocketGeometry')
start, end = g.nodes.new('NodeGroupInput'), g.nodes.new('NodeGroupOutput')
matrix, switch = g.nodes.new('FunctionNodeCombineTransform'), g.nodes.new('GeometryNodeSwitch')
switch.input_type = 'MATRIX'
moved = g.nodes.new('GeometryNodeTransform')
if hasattr(moved, 'mode'):
    moved.mode = 'MATRIX'
else:
    moved.inputs['Mode'].default_value = 'Matrix'
g.links.new(matrix.outputs[0], switch.inputs[1])
g.links.new(switch.outputs[0], moved.inputs['Transform'])
g.links.new(start.outputs[0], moved.inputs[0])
g.links.new(moved.outputs[0], end.inputs[0])
matrix.inputs['Translation'].default_value = 1, 2, 3
modifier = o.modifiers.new('nodes', 'NODES')
modifier.node_group = g
mesh = o.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
result = [round(sum(v.co[i] for v in mesh.vertices) / len(mesh.vertices)) for i in range(3)]
"""
    assert result(_START + _GROUP + code) == [1, 2, 3]
