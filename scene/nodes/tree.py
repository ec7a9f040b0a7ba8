# SPDX-License-Identifier: GPL-3.0-or-later
"""A node tree as plain data that can be edited and built again: values that differ from new nodes', and the links.

The form of a tree; only `type` and `nodes` are required:

    {"type": "ShaderNodeTree",
     "properties": {"color_tag": "SHADER"},
     "use_nodes": false,
     "interface": [{"name": "Scale", "in_out": "INPUT", "type": "NodeSocketFloat", "default_value": 2.0},
                   {"panel": "More", "items": [...]}],
     "nodes": [{"name": "Noise", "type": "ShaderNodeTexNoise", "location": [-200, 0], "parent": "Frame",
                "properties": {"noise_dimensions": "2D"}, "items": {"repeat_items": [...]},
                "inputs": {"Scale": 5.0}, "outputs": {}, "hidden": [["W"], []], "pairs_with": "Repeat Output",
                "panels": {"9": false}}],
     "links": [["Noise", "Color", "Principled BSDF", "Base Color"]]}

A socket is named by its name; `Name#2` is the second one with that name, `@Value_001` uses the identifier. A data-block
is written as its name, or as `[name, library]`. `panels` tells by identifier which panels are closed. A node that runs
code or refers to a file has only `"keep": true`. Links are in the order in which they enter a multi-input socket.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import bpy

from ...base.errors import InvalidParamsError
from ..describe.overview import find
from .bench import bench_for, is_of_scene, scratch
from .values import (
    NOT_OF_NODE,
    PATHS,
    class_of,
    different,
    interface_values,
    is_id,
    node_values,
    properties,
    short,
    tree_properties,
    value_of,
)

__all__ = (
    "KINDS",
    "PANEL",
    "RUNS_OR_READS",
    "Kind",
    "Standard",
    "find_tree",
    "has_items",
    "interface_standard",
    "is_of_scene",
    "is_unused",
    "node_kind",
    "node_standard",
    "of_owner",
    "read",
    "require_tree",
    "scratch",
    "socket_key",
)

Json = dict[str, Any]
Kind = Literal["material", "world", "light", "linestyle", "texture", "scene", "node_group"]
#: Kind of owner -> its collection in bpy.data.
KINDS: Mapping[Kind, str] = {
    "material": "materials",
    "world": "worlds",
    "light": "lights",
    "linestyle": "linestyles",
    "texture": "textures",
    "scene": "scenes",
    "node_group": "node_groups",
}
RUNS_OR_READS = ("ShaderNodeScript", "CompositorNodeOutputFile", "GeometryNodeImport")


def find_tree(kind: Kind, name: str) -> tuple[Any, Any]:
    """Return the owner and its node tree; the tree is None if it does not exist yet. Raises InvalidParamsError."""
    owner = find(getattr(bpy.data, KINDS[kind]), name, kind.replace("_", " "))
    if kind == "node_group":
        return owner, owner
    if kind == "scene" and hasattr(owner, "compositing_node_group"):
        return owner, owner.compositing_node_group
    return owner, owner.node_tree


def of_owner(kind: Kind, name: str) -> Json:
    """Return an owner's tree as data, see `read`; with `"use_nodes": false` if the owner does not use its nodes."""
    tree = require_tree(kind, name)
    owner, _ = find_tree(kind, name)
    return read(tree) | ({"use_nodes": False} if is_unused(kind, owner) else {})


def is_unused(kind: Kind, owner: Any) -> bool:
    """Return whether an owner has nodes but does not use them. From Blender 5.0 on, most owners always use them."""
    if bpy.app.version >= (5, 0) and kind in ("material", "world", "scene"):
        return False
    return not getattr(owner, "use_nodes", True)


def read(tree: Any) -> Json:
    """Return the tree as data, see the module. Call it when Blender may be changed: it creates nodes to compare."""
    nodes = list(tree.nodes)
    with bench_for(tree) as bench:
        found: Json = {"type": tree.bl_idname}
        told = different(tree_properties(tree), _tree_standard(bench))
        if told:
            found["properties"] = told
        if tree.interface is not None and len(tree.interface.items_tree):
            found["interface"] = _interface(tree, bench)
        found["nodes"] = [_node(node, bench) for node in nodes]
    found["links"] = list(_links(tree))
    return found


# --- values of new nodes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standard:
    """A new node or item: its values, the types, values and names of its sockets, and its closed panels."""

    values: Json
    inputs: Mapping[str, tuple[str, Any, str]]
    outputs: Mapping[str, tuple[str, Any, str]]
    panels: Mapping[str, bool] = field(default_factory=dict)


#: Marks a value of a new node that depends on the file; `read` always includes such a value.
_DEPENDS = object()
_standards: dict[tuple[str, bool, str], Standard | None] = {}
_tree_standards: dict[tuple[str, bool], Json] = {}


def _tree_standard(bench: Any) -> Json:
    """Return the settings of a new tree of this type."""
    key = (bench.bl_idname, is_of_scene(bench))
    if key not in _tree_standards:
        _tree_standards[key] = tree_properties(bench)
    return _tree_standards[key]


def node_standard(bench: Any, idname: str) -> Standard | None:
    """Return the values of a new node of this type; None if the tree does not allow such a node."""
    key = (bench.bl_idname, is_of_scene(bench), idname)
    if key not in _standards:
        _standards[key] = _make_standard(bench, idname)
    return _standards[key]


def node_kind(idname: str) -> Any:
    """Return the class of a type of node; None if this Blender has no such type."""
    kind = getattr(bpy.types, idname, None)
    return kind if isinstance(kind, type) and issubclass(kind, bpy.types.Node) else None


def has_items(idname: str) -> bool:
    """Return whether the sockets of a node depend on its items or on a paired or linked node."""
    kind: Any = node_kind(idname) or bpy.types.Node
    pairs = "paired_output" in kind.bl_rna.properties
    base = bpy.types.Node.bl_rna.properties
    own = (p for p in kind.bl_rna.properties if p.identifier not in base)
    return pairs or any(p.type == "COLLECTION" and p.srna is not None for p in own)


def _make_standard(bench: Any, idname: str) -> Standard | None:
    if node_kind(idname) is None:
        return None
    try:
        node = bench.nodes.new(idname)
    except RuntimeError:
        return None
    try:
        inputs = {s.identifier: (s.bl_idname, value_of(s), s.name) for s in node.inputs}
        outputs = {s.identifier: (s.bl_idname, value_of(s), s.name) for s in node.outputs}
        values = {
            name: _DEPENDS for name, kind, *_ in properties(class_of(node), NOT_OF_NODE) if kind == "ENUM"
        }
        values |= {n: _DEPENDS if _depends(node, n, v) else v for n, v in node_values(node).items()}
        return Standard(values, inputs, outputs, _panels(node))
    finally:
        bench.nodes.remove(node)


def _depends(node: Any, name: str, value: Any) -> bool:
    """Return whether a new node's value is a data-block, or a choice that the file defines, such as a view layer."""
    prop = node.bl_rna.properties[name]
    if prop.type == "POINTER":
        return value is not None and is_id(prop.fixed_type)
    return prop.type == "ENUM" and not prop.is_enum_flag and value not in prop.enum_items


def interface_standard(bench: Any, socket_type: str, in_out: str) -> Json | None:
    """Return the values of a new socket of a group; None if the tree does not allow such a socket."""
    key = (bench.bl_idname, False, f"{in_out} {socket_type}")
    if key not in _standards:
        try:
            item = bench.interface.new_socket("x", in_out=in_out, socket_type=socket_type)
        except TypeError:
            _standards[key] = None
        else:
            _standards[key] = Standard(interface_values(item), {}, {})
            bench.interface.remove(item)
    found = _standards[key]
    return None if found is None else found.values


# --- nodes ----------------------------------------------------------------------------------------------------


#: Blender 4.5 crashes when `paired_output` of an experimental closure's input is read.
_CRASH_UNPAIRED = frozenset(("GeometryNodeClosureInput",))


def _node(node: Any, bench: Any) -> Json:
    told: Json = {"name": node.name, "type": node.bl_idname, "location": [short(x) for x in node.location]}
    if node.parent is not None:
        told["parent"] = node.parent.name
    if _is_kept(node):
        return told | {"keep": True}
    standard = node_standard(bench, node.bl_idname) or Standard({}, {}, {})
    changed = different(node_values(node), standard.values)
    if "is_active_output" in standard.values:
        changed["is_active_output"] = node.is_active_output
    collections = {name for name, kind, *_ in properties(class_of(node), NOT_OF_NODE) if kind == "COLLECTION"}
    items = {name: changed.pop(name) for name in collections & changed.keys()}
    paired = None if node.bl_idname in _CRASH_UNPAIRED else getattr(node, "paired_output", None)
    if changed:
        told["properties"] = changed
    if items:
        told["items"] = items
    if paired is not None:
        told["pairs_with"] = paired.name
    if panels := different(_panels(node), standard.panels):
        told["panels"] = panels
    tree = getattr(node, "node_tree", None)
    for side, sockets, usual in (
        ("inputs", node.inputs, standard.inputs),
        ("outputs", node.outputs, standard.outputs),
    ):
        if side == "outputs" and (collections or node.bl_idname == "NodeGroupInput"):
            continue  # Blender creates these sockets from items or the interface, which `read` includes
        values = _sockets(sockets, usual, _group_values(tree, side) if tree else {})
        if values:
            told[side] = values
    for flag, name in (("hide", "hidden"), ("pin_gizmo", "pinned")):
        keys = [
            [socket_key(side, s) for s in side if getattr(s, flag, False)]
            for side in (node.inputs, node.outputs)
        ]
        if any(keys):
            told[name] = keys
    return told


def _panels(node: Any) -> Json:
    """Return the closed panels of a node, by identifier; known from Blender 5.2 on."""
    return {str(panel.identifier): panel.is_collapsed for panel in getattr(node, "panel_states", ())}


def _is_kept(node: Any) -> bool:
    """Return whether a node runs code or refers to a file: data names it, but an assistant can never create it."""
    return node.bl_idname.startswith(RUNS_OR_READS) or any(
        subtype in PATHS and getattr(node, name)
        for name, _, subtype, _ in properties(class_of(node), NOT_OF_NODE)
    )


def _sockets(sockets: Any, standard: Mapping[str, Any], of_group: Mapping[str, Any]) -> Json:
    found: Json = {}
    for socket in sockets:
        value = value_of(socket)
        empty = value is None and socket.bl_idname not in _HOLD_BLOCKS
        if empty or (value == "" and socket.type == "MENU"):
            continue
        usual = (
            (socket.bl_idname, of_group[socket.identifier])
            if socket.identifier in of_group
            else standard.get(socket.identifier, ("",))[:2]
        )
        # A new menu is empty if its items are added later.
        if socket.type == "MENU" or (socket.bl_idname, value) != usual:
            found[socket_key(sockets, socket)] = value
    return found


_HOLD_BLOCKS = frozenset(
    f"NodeSocket{kind}" for kind in "Object Collection Image Material Texture Font Sound Text Scene".split()
)


def _group_values(tree: Any, side: str) -> Json:
    wanted = "INPUT" if side == "inputs" else "OUTPUT"
    return {
        item.identifier: value_of(item)
        for item in tree.interface.items_tree
        if item.item_type == "SOCKET" and item.in_out == wanted
    }


def socket_key(sockets: Any, socket: Any) -> str:
    """Return the key of a socket among those of its side: its name, `Name#2`, or `@identifier`."""
    if socket.enabled:
        same = [s for s in sockets if s.enabled and s.name == socket.name]
        if len(same) == 1 and "#" not in socket.name and not socket.name.startswith("@"):
            return str(socket.name)
        if len(same) > 1:
            return f"{socket.name}#{same.index(socket) + 1}"
    return f"@{socket.identifier}"


# --- links and interface --------------------------------------------------------------------------------------


def _links(tree: Any) -> Iterator[list[Any]]:
    """Yield the links in order; those into a multi-input socket in the order in which they enter it."""
    links = list(tree.links)
    entering: dict[int, list[Any]] = {}
    for link in links:
        if link.to_socket.is_multi_input:
            entering.setdefault(link.to_socket.as_pointer(), []).append(link)
    for several in entering.values():
        several.sort(key=lambda link: link.multi_input_sort_id)
    for link in links:
        if link.to_socket.is_multi_input:
            link = entering[link.to_socket.as_pointer()].pop(0)
        source, target = link.from_node, link.to_node
        told = [
            source.name,
            socket_key(source.outputs, link.from_socket),
            target.name,
            socket_key(target.inputs, link.to_socket),
        ]
        yield [*told, "muted"] if link.is_muted else told


def _interface(tree: Any, bench: Any) -> list[Json]:
    below: dict[int, list[Any]] = {}
    for item in tree.interface.items_tree:
        below.setdefault(item.parent.index, []).append(item)

    def told(item: Any) -> Json:
        if item.item_type == "PANEL":
            panel = {"panel": item.name, **different(interface_values(item), PANEL)}
            inside = [told(each) for each in below.get(item.index, ())]
            return panel | ({"items": inside} if inside else {})
        kind = item.socket_type
        usual = interface_standard(bench, kind, item.in_out) or {}
        head = {"name": item.name, "in_out": item.in_out, "type": kind}
        return head | different(interface_values(item), usual)

    return [told(item) for item in below.get(-1, ())]


PANEL = {"description": "", "default_closed": False}


def require_tree(kind: Kind, name: str) -> Any:
    """Return the node tree of an owner. Raises InvalidParamsError if it has none."""
    _, tree = find_tree(kind, name)
    if tree is None:
        raise InvalidParamsError(
            f"The {kind.replace('_', ' ')} {name!r} has no nodes: set_node_tree makes some."
        )
    return tree
