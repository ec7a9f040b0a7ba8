# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates how many points a geometry node tree makes: it follows values and geometry through the links.

How many points a node makes is a formula of `facts/growth.json`; a node without a formula passes on what arrives. A
number from a field counts as `_SMALL`. A number of which nothing is known counts as `_UNKNOWN`, so that the script has
to be rehearsed; so does whatever is not followed: a loop of links, more than `_DEPTH` links or `_MOST_TREES` groups.
A number from the group's inputs counts as the modifier's value, so that a script that sets it is caught.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import bpy

from ..facts.members import names
from ..guard.measured import UNKNOWN
from .animated import Animated
from .arithmetic import arithmetic, known_number
from .formulas import Formula, formulas

__all__ = ("modifier_size", "most")

PointsOf: TypeAlias = Callable[[Any], float]
"""A function that returns about how many points an object has after its modifiers."""

_UNKNOWN = UNKNOWN
_SMALL = 10.0
"""The value of a field, such as a texture, a position or a random value."""
_NUMERIC = frozenset({"VALUE", "INT", "VECTOR", "RGBA", "ROTATION", "MATRIX"})
_SMALL_NUMBERS = tuple(names("nodes that give small numbers"))
_ANY_NUMBER = names("nodes that give any number")
_HUGE = 1e15
_BLOCKS = frozenset({"NodeSocketCollection", "NodeSocketObject"})
_BY_OTHER_WAYS = frozenset(
    "NodeEvaluateClosure GeometryNodeMeshToDensityGrid GeometryNodeMeshToSDFGrid GeometryNodePointsToSDFGrid".split()
)
"""Nodes that Blender evaluates although their result may not be geometry, or arrives by no geometry link."""
_TEXTS = frozenset({"FunctionNodeReplaceString", "GeometryNodeStringJoin", "GeometryNodeStringToCurves"})
_DEPTH = 40
_MOST_TREES = 1_000
"""How many trees of group nodes one estimate follows; the same tree with the same numbers counts once."""


def modifier_size(modifier: Any, size: float, user: Any, points_of: PointsOf) -> float:
    """Return the points after a Geometry Nodes modifier of `size` points; `points_of` counts those of other objects."""
    tree = _tree(modifier, size, user, points_of)
    if tree is None:
        return size
    try:
        return tree.output()
    except RecursionError:  # a chain of nodes as long as Python can follow
        return _UNKNOWN


def most(modifier: Any, points_of: PointsOf) -> str:
    """Return the node of a modifier's tree that multiplies most, and its largest number, as the end of a message."""
    tree = _tree(modifier, 1.0, modifier.id_data, points_of)
    if tree is None:
        return ""
    try:
        tree.output()
    except RecursionError:
        return ""
    _, node, number = tree.most
    return f", node {node!r}{number}" if node else ""


def _tree(modifier: Any, size: float, user: Any, points_of: PointsOf) -> _Tree | None:
    tree = modifier.node_group
    if tree is None:
        return None
    inputs: dict[str, Any] = {}
    for item in tree.interface.items_tree:
        if item.item_type == "SOCKET" and item.in_out == "INPUT" and hasattr(item, "default_value"):
            value = _input_value(modifier, item)
            inputs[item.identifier] = value if item.socket_type in _BLOCKS else _magnitude(value)
    return _Tree(tree, size, inputs, user.dimensions[:], {}, points_of)


def _input_value(modifier: Any, item: Any) -> Any:
    """Return the modifier's value of a group input: an attribute since Blender 5.2, a custom property before."""
    inputs = getattr(getattr(modifier, "properties", None), "inputs", None)
    if inputs is not None:
        value = getattr(getattr(inputs, item.identifier, None), "value", item.default_value)
        return modifier.input_value(item.identifier, value) if isinstance(modifier, Animated) else value
    return modifier.get(item.identifier, item.default_value)


def _magnitude(value: Any) -> float:
    """Return the absolute value of a number, or the largest of several; 0 for anything else."""
    if isinstance(value, (int, float)):
        return known_number(float(value))
    numbers = value if hasattr(value, "__len__") and not isinstance(value, str) else ()
    return max((known_number(float(each)) for each in numbers), default=0.0)


_Inner: TypeAlias = dict[tuple[Any, ...], tuple[float, tuple[float, str, str]]]
"""What the trees of group nodes made, and which node made most, by the tree and all that goes in."""


class _Tree:
    """One evaluation of one tree; `inputs` are the numbers, objects and collections of its group inputs, by identifier.

    All trees of one estimate share `inner`. No tree holds another, nor a function that holds it: while a script runs,
    Python does not collect what holds itself.
    """

    def __init__(
        self,
        tree: Any,
        size: float,
        inputs: dict[str, Any],
        extent: tuple[float, ...],
        inner: _Inner,
        points_of: PointsOf,
    ) -> None:
        self.tree = tree
        self.size = size
        self.inputs = inputs
        self.extent = max(*map(known_number, extent), 1.0)
        self.inner = inner
        self.points_of = points_of
        #: The factor of the node that multiplies most, its name, and its largest number.
        self.most = (1.0, "", "")
        self._known: dict[tuple[str, str], float] = {}
        #: The links to an input by its address: `NodeSocket.links` looks at all links of the tree.
        self._links: defaultdict[int, list[Any]] = defaultdict(list)
        for link in tree.links:
            self._links[link.to_socket.as_pointer()].append(link)

    def links(self, socket: Any) -> list[Any]:
        """Return the links to an input."""
        return self._links.get(socket.as_pointer(), [])

    def output(self) -> float:
        """Return the points at the group outputs or of a zone, whichever is most."""
        found = [0.0]
        for node in self.tree.nodes:
            if node.bl_idname in ("NodeGroupOutput", "GeometryNodeViewer"):
                found += [self.geometry(s) for s in node.inputs if s.type == "GEOMETRY"]
        for node in self.tree.nodes:
            if node.bl_idname in _BY_OTHER_WAYS:
                found.append(self._points_of_node(node, node.outputs[0]))
            elif (
                node.bl_idname == "GeometryNodeBlurAttribute"
            ):  # a hundred iterations take as long as a new point
                found.append(max(*found, self.size) * self.number(node, "Iterations") / 100.0)
            elif node.bl_idname in _TEXTS:  # a hundred letters take as long as a new point
                found.append(self.text(node.outputs[0], 0) / 100.0)
        return max(found)

    def text(self, output: Any, level: int) -> float:
        """Return how many letters a node's output text has."""
        node = output.node
        known = ("text " + node.name, output.identifier)
        if known not in self._known and level < _DEPTH:
            self._known[known] = _HUGE  # for a loop of links
            self._known[known] = min(self._node_letters(node, level + 1), _HUGE)
        return self._known.get(known, _HUGE)

    def text_input(self, node: Any) -> float:
        """Return how many letters the texts that arrive at a node have."""
        return sum(self._arriving_letters(s, 0) for s in node.inputs if s.type == "STRING")

    def _node_letters(self, node: Any, level: int) -> float:
        if node.bl_idname == "FunctionNodeInputString":
            return float(len(node.string))
        inputs = [self._arriving_letters(s, level) for s in node.inputs if s.type == "STRING"]
        if node.bl_idname == "FunctionNodeReplaceString":
            return inputs[0] * max(inputs[-1], 1.0)
        total = sum(inputs) + 100.0
        if node.bl_idname == "GeometryNodeRepeatOutput":
            for other in self.tree.nodes:
                if other.bl_idname == "GeometryNodeRepeatInput" and other.paired_output == node:
                    return total * 2.0 ** min(self.number(other, "Iterations"), 100.0)
        return total

    def _arriving_letters(self, socket: Any, level: int) -> float:
        if links := self.links(socket):
            between = self._arriving_letters(socket.node.inputs[0], level) if socket.is_multi_input else 0.0
            return sum(self.text(link.from_socket, level) + between for link in links)
        return float(len(getattr(socket, "default_value", "")))

    def number(self, node: Any, name: str, default: float = 1.0) -> float:
        """Return the absolute value of a node's number input."""
        socket = node.inputs.get(name)
        return default if socket is None else self.value(socket, 0)

    def value(self, socket: Any, level: int) -> float:
        """Return the absolute value of what arrives at a number socket."""
        links = self.links(socket)
        if not links:
            return _magnitude(getattr(socket, "default_value", 0.0))
        return self._source(links[0], level + 1) if level <= _DEPTH else _UNKNOWN

    def is_exact(self, socket: Any) -> bool:
        """Return whether `value` is the number itself, and not the largest of several."""
        for _ in range(_DEPTH):
            links = self.links(socket)
            if not links:
                return not hasattr(socket.default_value, "__len__")
            node = links[0].from_node
            if node.bl_idname != "NodeReroute":
                return node.bl_idname in _EXACT
            socket = node.inputs[0]
        return False

    def block(self, socket: Any) -> Any:
        """Return the object or collection that arrives at a socket; a number of points if there is none.

        That is `_UNKNOWN` if a node decides which one arrives.
        """
        for _ in range(_DEPTH):
            links = self.links(socket)
            node = links[0].from_node if links else None
            if node is None:
                found = socket.default_value
            elif node.bl_idname == "NodeReroute":
                socket = node.inputs[0]
                continue
            elif node.bl_idname == "NodeGroupInput":
                found = self.inputs.get(links[0].from_socket.identifier, _UNKNOWN)
            else:
                found = _chosen_block(node)
            return 1.0 if found is None else found
        return _UNKNOWN

    def _source(self, link: Any, level: int) -> float:
        node, output = link.from_node, link.from_socket
        known = (node.name, output.identifier)
        if known not in self._known:
            self._known[known] = _UNKNOWN  # for a loop of links
            self._known[known] = min(self._compute(node, output, level), _HUGE)
        return self._known[known]

    def _compute(self, node: Any, output: Any, level: int) -> float:
        kind = node.bl_idname
        inputs = [self.value(s, level) for s in node.inputs if s.enabled and s.type in _NUMERIC]
        if kind == "NodeReroute":
            return self.value(node.inputs[0], level)
        if kind == "NodeGroupInput":
            return self.inputs.get(output.identifier, _UNKNOWN)
        if kind == "FunctionNodeInputInt":
            return abs(float(node.integer))
        if kind == "ShaderNodeValue":
            return abs(float(node.outputs[0].default_value))
        if kind in _ARITHMETIC:
            exact = [self.is_exact(s) for s in node.inputs if s.enabled and s.type in _NUMERIC]
            return arithmetic(node.operation, inputs, exact)
        if (
            kind == "ShaderNodeMapRange"
            and not node.clamp
            and not node.interpolation_type.startswith("SMOOTH")
        ):
            return _UNKNOWN  # it continues beyond its bounds
        if kind == "ShaderNodeMix" and (not node.clamp_factor or node.blend_type != "MIX"):
            return _UNKNOWN
        if kind in ("ShaderNodeClamp", "ShaderNodeMapRange", "ShaderNodeMix", "GeometryNodeSwitch"):
            return max(inputs, default=_SMALL)
        if kind in _NUMBERS:
            arriving = sum(self.geometry(s) for s in node.inputs if s.type == "GEOMETRY")
            return self._apply(_NUMBERS[kind], node, arriving)
        return (
            max([*inputs, _SMALL])
            if kind.startswith(_SMALL_NUMBERS) and kind not in _ANY_NUMBER
            else _UNKNOWN
        )

    def geometry(self, socket: Any) -> float:
        """Return the points that arrive at a geometry socket (of several links: their sum)."""
        total = 0.0
        for link in self.links(socket):
            total += self._points_of_node(link.from_node, link.from_socket)
        return min(total, _HUGE)

    def _points_of_node(self, node: Any, output: Any) -> float:
        known = ("geometry " + node.name, output.identifier)
        if known not in self._known:
            self._known[known] = _HUGE  # for a loop of links
            self._known[known] = min(self._compute_points(node), _HUGE)
        return self._known[known]

    def _compute_points(self, node: Any) -> float:
        kind = node.bl_idname
        if kind == "NodeGroupInput":
            return self.size
        if kind == "GeometryNodeGroup":
            return self._group(node)
        arriving = sum(self.geometry(s) for s in node.inputs if s.type == "GEOMETRY")
        formula = _FORMULAS.get(kind)
        if formula is None:
            return max(arriving, 1.0)
        made = self._apply(formula, node, arriving)
        factor = made / max(arriving, 1.0)
        if factor > self.most[0]:
            self.most = (factor, node.label or node.name, self._largest(node))
        return made

    def _apply(self, formula: Formula, node: Any, arriving: float) -> float:
        known = {"arriving": arriving, "extent": self.extent}

        def read(name: str) -> float | None:
            if name in known:
                return known[name]
            socket = node.inputs.get(name.replace("_", " "))
            if socket is None:
                return None
            return (
                self.value(socket, 0) if name not in formula.divisors or self.is_exact(socket) else _UNKNOWN
            )

        functions = {name: partial(function, self, node, arriving) for name, function in _FUNCTIONS.items()}
        return formula.value(read, {"into": lambda which: self.geometry(node.inputs[which]), **functions})

    def _largest(self, node: Any) -> str:
        """Return the largest number input of a node, as the end of a message."""
        numbers = {s.name: self.value(s, 0) for s in node.inputs if s.enabled and s.type in ("VALUE", "INT")}
        name = max(numbers, key=numbers.__getitem__, default="")
        return f" ({name} = {numbers[name]:,g})" if name else ""

    def _group(self, node: Any) -> float:
        if node.node_tree is None:
            return 1.0
        arriving = sum(self.geometry(s) for s in node.inputs if s.type == "GEOMETRY")
        inputs = {s.identifier: self.value(s, 0) for s in node.inputs if s.type in ("VALUE", "INT", "VECTOR")}
        inputs |= {s.identifier: self.block(s) for s in node.inputs if s.type in ("OBJECT", "COLLECTION")}
        goes_in = (node.node_tree.name_full, arriving, self.extent, *inputs.items())
        if goes_in not in self.inner:
            if len(self.inner) >= _MOST_TREES:
                return _UNKNOWN
            self.inner[goes_in] = _UNKNOWN, self.most  # for a group in itself, and to count it
            tree = _Tree(node.node_tree, arriving, inputs, (self.extent,), self.inner, self.points_of)
            self.inner[goes_in] = tree.output(), tree.most
        made, most = self.inner[goes_in]
        self.most = max(self.most, most)
        return made


_ARITHMETIC = frozenset({"ShaderNodeMath", "FunctionNodeIntegerMath", "ShaderNodeVectorMath"})
_EXACT = frozenset({"NodeGroupInput", "FunctionNodeInputInt", "ShaderNodeValue"})
"""Nodes of whose numbers the estimate knows the value, not only a bound."""


def _chosen_block(node: Any) -> Any:
    """Return the object or collection that a node without inputs gives; `_UNKNOWN` for any other node."""
    match node.bl_idname:
        case "GeometryNodeInputObject":
            return node.object
        case "GeometryNodeInputCollection":
            return node.collection
        case "GeometryNodeSelfObject":
            return None
    return _UNKNOWN


def _for_each(tree: _Tree, node: Any, arriving: float) -> float:
    """Return the points of a for-each zone: its body runs once for each element that goes in."""
    for other in tree.tree.nodes:
        if other.bl_idname == "GeometryNodeForeachGeometryElementInput" and other.paired_output == node:
            return arriving * max(sum(tree.geometry(s) for s in other.inputs if s.type == "GEOMETRY"), 1.0)
    return arriving


def _closure(tree: _Tree, _node: Any, arriving: float) -> float:
    """Return the points of the tree's largest closure: which one arrives is not followed."""
    ends = [node for node in tree.tree.nodes if node.bl_idname == "NodeClosureOutput"]
    made = [tree.geometry(s) for node in ends for s in node.inputs if s.type == "GEOMETRY"]
    return max(arriving, 1.0) * max([1.0, *made])


def _repeat(tree: _Tree, node: Any, arriving: float) -> float:
    """Return the points of a repeat zone: its body runs `Iterations` times, and each turn may multiply."""
    for other in tree.tree.nodes:
        if other.bl_idname == "GeometryNodeRepeatInput" and other.paired_output == node:
            return _after_turns(tree, other, arriving, tree.number(other, "Iterations"))
    return arriving


def _simulate(tree: _Tree, node: Any, arriving: float) -> float:
    """Return the points of a simulation zone: its body runs once a frame, and each time may multiply."""
    for other in tree.tree.nodes:
        if other.bl_idname == "GeometryNodeSimulationInput" and other.paired_output == node:
            return _after_turns(tree, other, arriving, _last_frame())
    return arriving


def _after_turns(tree: _Tree, begin: Any, arriving: float, turns: float) -> float:
    """Return the points after so many turns of a zone that makes `arriving` of what goes into `begin`."""
    before = max(sum(tree.geometry(s) for s in begin.inputs if s.type == "GEOMETRY"), 1.0)
    try:
        return before * (max(arriving, 1.0) / before) ** min(turns, 200.0) + turns
    except OverflowError:
        return _HUGE


def _last_frame() -> float:
    return float(max(scene.frame_end for scene in bpy.data.scenes))


def _object_size(tree: _Tree, node: Any, _arriving: float) -> float:
    """Return the points of a node's object; 1000 where a field decides which object."""
    found = tree.block(node.inputs.get("Object"))
    return found if isinstance(found, float) else tree.points_of(found)


def _collection_size(tree: _Tree, node: Any, _arriving: float) -> float:
    found = tree.block(node.inputs.get("Collection"))
    return 1000.0 + (found if isinstance(found, float) else sum(map(tree.points_of, found.all_objects)))


_FORMULAS, _NUMBERS = formulas("nodes"), formulas("numbers")
_FUNCTIONS: dict[str, Callable[[_Tree, Any, float], float]] = {
    "for_each": _for_each,
    "closure": _closure,
    "repeated": _repeat,
    "simulated": _simulate,
    "object_size": _object_size,
    "collection_size": _collection_size,
    "letters": lambda tree, node, _arriving: tree.text_input(node),
    "frames": lambda _tree, _node, _arriving: _last_frame(),
}
