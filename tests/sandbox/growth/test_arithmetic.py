# SPDX-License-Identifier: GPL-3.0-or-later
"""No node that computes makes more of numbers than its bound says: every operation, with Blender's own results."""

from __future__ import annotations

import itertools
import math
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.growth.arithmetic import arithmetic
from bl_ext.user_default.mcp_bridge.sandbox.guard.measured import UNKNOWN

pytestmark = pytest.mark.usefixtures("fresh_file")

_NUMBERS = (-100.0, -3.0, -0.01, 0.5, 2.0, 40.0)
_INTEGERS = (-100, -3, 1, 2, 40)
_NODES = {
    "ShaderNodeMath": (bpy.types.ShaderNodeMath, _NUMBERS),
    "FunctionNodeIntegerMath": (getattr(bpy.types, "FunctionNodeIntegerMath", None), _INTEGERS),
    "ShaderNodeVectorMath": (bpy.types.ShaderNodeVectorMath, _NUMBERS),
}
_EACH = [
    (kind, item.identifier)
    for kind, (node, _numbers) in _NODES.items()
    if node is not None
    for item in node.bl_rna.properties["operation"].enum_items
]


@pytest.mark.parametrize(("kind", "operation"), _EACH)
def test_no_result_is_above_its_bound(kind: str, operation: str) -> None:
    tree = bpy.data.node_groups.new("g", "GeometryNodeTree")
    tree.interface.new_socket("out", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    last = tree.nodes.new("GeometryNodePoints").outputs[0]
    bounds = []
    numbers = _NODES[kind][1]
    for at, (first, second) in enumerate(itertools.product(numbers, numbers)):
        node: Any = tree.nodes.new(kind)
        node.operation = operation
        enabled = [socket for socket in node.inputs if socket.enabled]
        for socket, number in zip(enabled, itertools.cycle((first, second)), strict=False):
            vector = hasattr(socket.default_value, "__len__")
            socket.default_value = (number, number / 3, -number) if vector else number
        given = [_largest(socket.default_value) for socket in enabled]
        exact = [not hasattr(socket.default_value, "__len__") for socket in enabled]
        bounds.append(arithmetic(operation, given, exact))
        (output,) = (socket for socket in node.outputs if socket.enabled)
        store: Any = tree.nodes.new("GeometryNodeStoreNamedAttribute")
        store.data_type = {"VECTOR": "FLOAT_VECTOR", "INT": "INT"}.get(output.type, "FLOAT")
        store.inputs["Name"].default_value = f"result {at}"
        value = next(s for s in store.inputs if s.name == "Value" and s.enabled)
        tree.links.new(last, store.inputs[0])
        tree.links.new(output, value)
        last = store.outputs[0]
    points = tree.nodes.new("GeometryNodePointsToVertices")  # an object of the type mesh gives its mesh alone
    tree.links.new(last, points.inputs[0])
    tree.links.new(points.outputs[0], tree.nodes.new("NodeGroupOutput").inputs[0])
    results = _evaluated(tree, len(bounds))
    for result, bound in zip(results, bounds, strict=True):
        assert bound >= UNKNOWN or result <= bound * 1.001 + 1.0, (result, bound)


def _largest(value: Any) -> float:
    return max(map(abs, value)) if hasattr(value, "__len__") else abs(value)


def _evaluated(tree: Any, count: int) -> list[float]:
    """Return the absolute results that the tree stores: finite ones, since Blender makes no count of the others."""
    user = bpy.context.object
    user.modifiers.new("n", "NODES").node_group = tree
    bpy.context.view_layer.update()
    mesh = user.evaluated_get(bpy.context.view_layer.depsgraph).data
    found = []
    for at in range(count):
        item = mesh.attributes[f"result {at}"].data[0]
        result = _largest(item.vector if hasattr(item, "vector") else item.value)
        found.append(result if math.isfinite(result) else 0.0)
    return found


#: Operations that may make any number of their inputs.
_BOUNDLESS = frozenset({"LOGARITHM", "REFRACT", "TANGENT"})


@pytest.mark.parametrize(
    "operation", sorted({operation for _kind, operation in _EACH} | {"of another Blender"})
)
def test_an_operation_that_is_not_listed_has_no_bound_and_all_of_this_blender_are(operation: str) -> None:
    bounded = arithmetic(operation, [1.0, 1.0, 1.0], [True] * 3) < UNKNOWN
    assert bounded is (operation not in {"of another Blender", *_BOUNDLESS})


@pytest.mark.parametrize(
    "operation", sorted({operation for _kind, operation in _EACH} | {"of another Blender"})
)
def test_an_unknown_input_makes_the_result_unknown(operation: str) -> None:
    bounded = arithmetic(operation, [3.0, 3.0, 3.0], [True] * 3) == arithmetic(
        operation, [1e6] * 3, [True] * 3
    )
    for at in range(2):
        given = [3.0, 3.0, 3.0]
        given[at] = UNKNOWN
        assert arithmetic(operation, given, [True] * 3) >= UNKNOWN or bounded
