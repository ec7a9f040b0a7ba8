# SPDX-License-Identifier: GPL-3.0-or-later
"""About how many points a geometry node tree makes: values and geometry are followed through the links.

Rough and on the high side, like all of geometry.py. A number that comes from a field or from an unknown node counts
as `_UNKNOWN`; a number from the group's inputs as what the modifier gives, so that a script that sets it is caught.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from . import sizes

__all__ = ("modifier_size",)

_UNKNOWN = 10.0
_HUGE = 1e15
_TEXTS = frozenset({"FunctionNodeReplaceString", "GeometryNodeStringJoin", "GeometryNodeStringToCurves"})
_DEPTH = 40


def modifier_size(modifier: Any, size: float, user: Any) -> float:
    """Points after a Geometry Nodes modifier whose input has `size` points."""
    tree = _tree(modifier, size, user)
    return size if tree is None else tree.output()


def most(modifier: Any) -> str:
    """Which node of a modifier's tree makes most of what it gets, and its largest number, as the end of a message."""
    tree = _tree(modifier, 1.0, modifier.id_data)
    if tree is None:
        return ""
    tree.output()
    _, node, number = tree.most
    return f", node {node!r}{number}" if node else ""


def _tree(modifier: Any, size: float, user: Any) -> _Tree | None:
    tree = modifier.node_group
    if tree is None:
        return None
    given = {}
    for item in tree.interface.items_tree:
        if item.item_type == "SOCKET" and item.in_out == "INPUT" and hasattr(item, "default_value"):
            value = _given(modifier, item)
            if isinstance(value, (int, float)):
                given[item.identifier] = abs(float(value))
    return _Tree(tree, size, given, user.dimensions[:], 0)


def _given(modifier: Any, item: Any) -> Any:
    """What a modifier gives to an input: an attribute since Blender 5.2, a custom property before."""
    inputs = getattr(getattr(modifier, "properties", None), "inputs", None)
    if inputs is not None:
        return getattr(getattr(inputs, item.identifier, None), "value", item.default_value)
    return modifier.get(item.identifier, item.default_value)


class _Tree:
    """One evaluation of one tree; `given` are the numbers of its group inputs by socket identifier."""

    def __init__(
        self, tree: Any, size: float, given: dict[str, float], extent: tuple[float, ...], depth: int
    ) -> None:
        self.tree = tree
        self.size = size
        self.given = given
        self.extent = max(*extent, 1.0)
        self.depth = depth
        #: By how much the node multiplies that multiplies most, its name, and its largest number.
        self.most = (1.0, "", "")
        self._known: dict[tuple[str, str], float] = {}
        #: By the address of an input what is linked to it: `NodeSocket.links` looks at all links of the tree.
        self._links: defaultdict[int, list[Any]] = defaultdict(list)
        for link in tree.links:
            self._links[link.to_socket.as_pointer()].append(link)

    def links(self, socket: Any) -> list[Any]:
        """What is linked to an input."""
        return self._links.get(socket.as_pointer(), [])

    def output(self) -> float:
        """Points at the group outputs, and of every zone, whichever is most."""
        found = [0.0]
        for node in self.tree.nodes:
            if node.bl_idname in ("NodeGroupOutput", "GeometryNodeViewer"):
                found += [self.geometry(s) for s in node.inputs if s.type == "GEOMETRY"]
        for node in self.tree.nodes:
            if node.bl_idname in _BY_OTHER_WAYS:
                found.append(self._made(node, node.outputs[0]))
            elif (
                node.bl_idname == "GeometryNodeBlurAttribute"
            ):  # a hundred visits take as long as a new point
                found.append(max(*found, self.size) * self.number(node, "Iterations") / 100.0)
            elif node.bl_idname in _TEXTS:  # a hundred letters take as long as a new point
                found.append(self.text(node.outputs[0], 0) / 100.0)
        return max(found)

    def text(self, output: Any, level: int) -> float:
        """Letters that a node gives."""
        node = output.node
        known = ("text " + node.name, output.identifier)
        if known not in self._known and level < _DEPTH:
            self._known[known] = 1.0  # a cycle through a zone
            self._known[known] = min(self._letters(node, level + 1), _HUGE)
        return self._known.get(known, _HUGE)

    def _letters(self, node: Any, level: int) -> float:
        if node.bl_idname == "FunctionNodeInputString":
            return float(len(node.string))
        given = [self._given_text(s, level) for s in node.inputs if s.type == "STRING"]
        if node.bl_idname == "FunctionNodeReplaceString":
            return given[0] * max(given[-1], 1.0)
        total = sum(given) + 100.0
        if node.bl_idname == "GeometryNodeRepeatOutput":
            for other in self.tree.nodes:
                if other.bl_idname == "GeometryNodeRepeatInput" and other.paired_output == node:
                    return total * 2.0 ** min(self.number(other, "Iterations"), 100.0)
        return total

    def _given_text(self, socket: Any, level: int) -> float:
        if links := self.links(socket):
            between = self._given_text(socket.node.inputs[0], level) if socket.is_multi_input else 0.0
            return sum(self.text(link.from_socket, level) + between for link in links)
        return float(len(getattr(socket, "default_value", "")))

    def number(self, node: Any, name: str, default: float = 1.0) -> float:
        """The size of a number input of a node."""
        socket = node.inputs.get(name)
        return default if socket is None else self.value(socket, 0)

    def value(self, socket: Any, level: int) -> float:
        """The magnitude of what arrives at a number socket."""
        links = self.links(socket)
        if not links or level > _DEPTH:
            value = getattr(socket, "default_value", 0.0)
            if isinstance(value, (int, float)):
                return abs(float(value))
            return max((abs(float(v)) for v in value), default=0.0) if hasattr(value, "__len__") else 0.0
        link = links[0]
        return self._source(link.from_node, link.from_socket, level + 1)

    def _source(self, node: Any, output: Any, level: int) -> float:
        known = (node.name, output.identifier)
        if known not in self._known:
            self._known[known] = _UNKNOWN  # a cycle through a zone
            self._known[known] = min(self._compute(node, output, level), _HUGE)
        return self._known[known]

    def _compute(self, node: Any, output: Any, level: int) -> float:
        kind = node.bl_idname
        inputs = [
            self.value(s, level) for s in node.inputs if s.enabled and s.type in ("VALUE", "INT", "VECTOR")
        ]
        if kind == "NodeReroute":
            return self.value(node.inputs[0], level)
        if kind == "NodeGroupInput":
            return self.given.get(output.identifier, _UNKNOWN)
        if kind == "FunctionNodeInputInt":
            return abs(float(node.integer))
        if kind == "ShaderNodeValue":
            return abs(float(node.outputs[0].default_value))
        if kind in ("ShaderNodeMath", "FunctionNodeIntegerMath"):
            return _arithmetic(node.operation, inputs)
        if kind == "ShaderNodeVectorMath":
            return _arithmetic(node.operation, inputs) * 2.0
        if kind in ("ShaderNodeClamp", "ShaderNodeMapRange", "ShaderNodeMix", "GeometryNodeSwitch"):
            return max(inputs, default=_UNKNOWN)
        if kind.startswith(("FunctionNode", "GeometryNodeIndexSwitch", "GeometryNodeMenuSwitch")):
            return max([*inputs, _UNKNOWN])
        return _UNKNOWN

    def geometry(self, socket: Any) -> float:
        """Points that arrive at a geometry socket (several links: their sum)."""
        total = 0.0
        for link in self.links(socket):
            total += self._made(link.from_node, link.from_socket)
        return min(total, _HUGE)

    def _made(self, node: Any, output: Any) -> float:
        known = ("geometry " + node.name, output.identifier)
        if known not in self._known:
            self._known[known] = 1.0
            self._known[known] = min(self._make(node), _HUGE)
        return self._known[known]

    def _make(self, node: Any) -> float:
        kind = node.bl_idname
        if kind == "NodeGroupInput":
            return self.size
        if kind == "GeometryNodeGroup":
            return self._group(node)
        arriving = sum(self.geometry(s) for s in node.inputs if s.type == "GEOMETRY")
        rule = _RULES.get(kind)
        if rule is None:
            return max(arriving, 1.0)
        made = rule(self, node, arriving)
        factor = made / max(arriving, 1.0)
        if factor > self.most[0]:
            self.most = (factor, node.label or node.name, self._largest(node))
        return made

    def _largest(self, node: Any) -> str:
        """The largest number that a node is given."""
        numbers = {s.name: self.value(s, 0) for s in node.inputs if s.enabled and s.type in ("VALUE", "INT")}
        name = max(numbers, key=numbers.__getitem__, default="")
        return f" ({name} = {numbers[name]:,g})" if name else ""

    def _group(self, node: Any) -> float:
        if node.node_tree is None or self.depth > 8:
            return 1.0
        arriving = sum(self.geometry(s) for s in node.inputs if s.type == "GEOMETRY")
        given = {s.identifier: self.value(s, 0) for s in node.inputs if s.type in ("VALUE", "INT", "VECTOR")}
        inner = _Tree(node.node_tree, arriving, given, (self.extent,), self.depth + 1)
        made = inner.output()
        self.most = max(self.most, inner.most)
        return made


def _arithmetic(operation: str, inputs: list[float]) -> float:
    first = inputs[0] if inputs else 0.0
    second = inputs[1] if len(inputs) > 1 else 0.0
    match operation:
        case "MULTIPLY" | "MULTIPLY_ADD" | "SCALE" | "DOT_PRODUCT" | "CROSS_PRODUCT":
            return math.prod(max(i, 1.0) for i in inputs)
        case "POWER":
            return min(max(first, 1.0) ** min(second, 100.0), _HUGE)
        case "EXPONENT":
            return math.exp(min(first, 30.0))
        case "DIVIDE":
            return first / max(second, 1e-3)
    return sum(inputs)


Rule = Callable[[_Tree, Any, float], float]


def _grow(*names: str) -> Rule:
    """Makes the product of these counts, beside what arrives."""
    return lambda tree, node, arriving: arriving + math.prod(max(tree.number(node, n), 1.0) for n in names)


def _multiply(name: str) -> Rule:
    return lambda tree, node, arriving: max(arriving, 1.0) * max(tree.number(node, name), 1.0)


def _subdivide(tree: _Tree, node: Any, arriving: float) -> float:
    return max(arriving, 1.0) * 4.0 ** min(tree.number(node, "Level"), 24.0)


def _instances(tree: _Tree, node: Any, _arriving: float) -> float:
    points = tree.geometry(node.inputs["Points"])
    return max(points, 1.0) * max(tree.geometry(node.inputs["Instance"]), 1.0)


def _scatter(tree: _Tree, node: Any, _arriving: float) -> float:
    density = max(tree.number(node, "Density", 0.0), tree.number(node, "Density Max", 0.0))
    return density * tree.extent**2 * 6.0


def _in_volume(tree: _Tree, node: Any, _arriving: float) -> float:
    spacing = tree.value(node.inputs["Spacing"], 0) if "Spacing" in node.inputs else 0.3
    grid = (tree.extent / max(spacing, 1e-3)) ** 3 if "Spacing" in node.inputs else 0.0
    return max(tree.number(node, "Density", 0.0) * tree.extent**3, grid)


def _resample(tree: _Tree, node: Any, arriving: float) -> float:
    length = tree.number(node, "Length", 0.1)
    along = tree.extent * 4.0 / max(length, 1e-4)
    return max(arriving, 1.0) * max(tree.number(node, "Count"), along if length else 1.0, 1.0)


def _voxels(tree: _Tree, node: Any, arriving: float) -> float:
    amount = max(tree.number(node, "Voxel Amount"), 1.0)
    size = tree.number(node, "Voxel Size", 0.3)
    across = max(amount, tree.extent / max(size, 1e-4))
    return arriving + across**3 / 10.0


def _for_each(tree: _Tree, node: Any, arriving: float) -> float:
    """A for-each zone: its body runs once for each element that goes in."""
    for other in tree.tree.nodes:
        if other.bl_idname == "GeometryNodeForeachGeometryElementInput" and other.paired_output == node:
            return arriving * max(sum(tree.geometry(s) for s in other.inputs if s.type == "GEOMETRY"), 1.0)
    return arriving


def _closure(tree: _Tree, _node: Any, arriving: float) -> float:
    """Which closure arrives is not followed: the largest of the tree."""
    ends = [node for node in tree.tree.nodes if node.bl_idname == "NodeClosureOutput"]
    made = [tree.geometry(s) for node in ends for s in node.inputs if s.type == "GEOMETRY"]
    return max(arriving, 1.0) * max([1.0, *made])


def _repeat(tree: _Tree, node: Any, arriving: float) -> float:
    """A repeat zone: its body runs `Iterations` times, and each turn may multiply."""
    turns = 1.0
    for other in tree.tree.nodes:
        if other.bl_idname == "GeometryNodeRepeatInput" and other.paired_output == node:
            turns = tree.number(other, "Iterations")
            before = sum(tree.geometry(s) for s in other.inputs if s.type == "GEOMETRY")
            factor = max(arriving, 1.0) / max(before, 1.0)
            return max(before, 1.0) * factor ** min(turns, 200.0) + turns
    return arriving * max(turns, 1.0)


_VOXEL_GRIDS = ("GeometryNodeMeshToDensityGrid", "GeometryNodeMeshToSDFGrid", "GeometryNodePointsToSDFGrid")
#: What is evaluated although its result may not be geometry, or arrives by no geometry link.
_BY_OTHER_WAYS = frozenset({"NodeEvaluateClosure", *_VOXEL_GRIDS})
_RULES: dict[str, Rule] = {
    "GeometryNodeMeshGrid": _grow("Vertices X", "Vertices Y"),
    "GeometryNodeMeshCube": lambda tree, node, arriving: (
        arriving
        + 2.0 * tree.number(node, "Vertices X") * tree.number(node, "Vertices Y")
        + 2.0 * tree.number(node, "Vertices Y") * tree.number(node, "Vertices Z")
        + 2.0 * tree.number(node, "Vertices X") * tree.number(node, "Vertices Z")
    ),
    "GeometryNodeMeshCircle": _grow("Vertices"),
    "GeometryNodeMeshLine": lambda tree, node, arriving: (
        arriving
        + max(tree.number(node, "Count"), 1000.0 / max(tree.number(node, "Resolution"), 1e-3) / 1000.0)
    ),
    "GeometryNodeMeshCylinder": lambda tree, node, arriving: (
        arriving
        + tree.number(node, "Vertices")
        * (tree.number(node, "Side Segments") + 2.0 * tree.number(node, "Fill Segments"))
    ),
    "GeometryNodeMeshCone": lambda tree, node, arriving: (
        arriving
        + tree.number(node, "Vertices")
        * (tree.number(node, "Side Segments") + 2.0 * tree.number(node, "Fill Segments"))
    ),
    "GeometryNodeMeshUVSphere": _grow("Segments", "Rings"),
    "GeometryNodeMeshIcoSphere": lambda tree, node, arriving: (
        arriving + 10.0 * 4.0 ** min(tree.number(node, "Subdivisions"), 24.0)
    ),
    "GeometryNodePoints": _grow("Count"),
    "GeometryNodeCurvePrimitiveCircle": _grow("Resolution"),
    "GeometryNodeCurveSpiral": _grow("Resolution", "Rotations"),
    "GeometryNodeCurveStar": _grow("Points"),
    "GeometryNodeCurveArc": _grow("Resolution"),
    "GeometryNodeCurvePrimitiveBezierSegment": _grow("Resolution"),
    "GeometryNodeCurveQuadraticBezier": _grow("Resolution"),
    "GeometryNodeVolumeCube": _grow("Resolution X", "Resolution Y", "Resolution Z"),
    "GeometryNodeSubdivideMesh": _subdivide,
    "GeometryNodeSubdivisionSurface": _subdivide,
    "GeometryNodeSubdivideCurve": _multiply("Cuts"),
    "GeometryNodeSetSplineResolution": _multiply("Resolution"),
    "GeometryNodeResampleCurve": _resample,
    "GeometryNodeCurveToPoints": _resample,
    "GeometryNodeCurveToMesh": lambda tree, node, _arriving: (
        max(tree.geometry(node.inputs[0]), 1.0) * max(tree.geometry(node.inputs[1]), 1.0)
    ),
    "GeometryNodeDuplicateElements": _multiply("Amount"),
    "GeometryNodeInstanceOnPoints": _instances,
    "GeometryNodeDistributePointsOnFaces": _scatter,
    "GeometryNodeDistributePointsInVolume": _in_volume,
    "GeometryNodeDistributePointsInGrid": _in_volume,
    "GeometryNodeInterpolateCurves": _multiply("Max Neighbors"),
    "GeometryNodeMeshToVolume": _voxels,
    "GeometryNodePointsToVolume": _voxels,
    "GeometryNodeVolumeToMesh": _voxels,
    "GeometryNodeStringToCurves": lambda _tree, _node, arriving: arriving + 1000.0,
    "GeometryNodeFilletCurve": _multiply("Count"),
    "GeometryNodeRepeatOutput": _repeat,
    "GeometryNodeForeachGeometryElementOutput": _for_each,
    "NodeEvaluateClosure": _closure,
    "GeometryNodeExtrudeMesh": lambda _tree, _node, arriving: arriving * 5.0,
    "GeometryNodeEdgePathsToCurves": lambda _tree, _node, arriving: arriving**2 / 10.0,
    **dict.fromkeys(_VOXEL_GRIDS, _voxels),
    "GeometryNodeCollectionInfo": lambda _tree, node, arriving: arriving + _collection_size(node),
    "GeometryNodeObjectInfo": lambda _tree, node, arriving: arriving + _object_size(node),
}


def _object_size(node: Any) -> float:
    """Points of the object that a node names; 1000 where a field says which."""
    found = getattr(node.inputs.get("Object"), "default_value", None)
    return 1000.0 if found is None else sizes.of(found)


def _collection_size(node: Any) -> float:
    found = getattr(node.inputs.get("Collection"), "default_value", None)
    return 1000.0 + (0.0 if found is None else sum(sizes.of(each) for each in found.all_objects))
