# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns a node tree that an assistant wrote into a plan for `scripts/build_node_tree.py`.

This checks everything that can be known before the tree exists, and reports all mistakes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import bpy

from ...base.errors import InvalidParamsError
from ...base.similar_names import did_you_mean, quoted
from . import tree as node_tree
from .blocks import COLLECTIONS, HELD, found
from .tree import KINDS, Kind, Standard
from .values import is_number, tree_properties

__all__ = ("plan",)

Json = dict[str, Any]

_MOST_NODES, _MOST_LINKS, _MOST_TOLD = 2000, 10_000, 12
_TREE_OF: Mapping[Kind, str] = {"scene": "CompositorNodeTree", "texture": "TextureNodeTree"}
_GROUPS = ("ShaderNodeTree", "GeometryNodeTree", "CompositorNodeTree", "TextureNodeTree")
_NODE_KEYS = frozenset(
    "name type location parent properties items inputs outputs hidden pinned pairs_with panels keep".split()
)


def plan(kind: Kind, name: str, tree: Json, *, new: bool) -> Json:
    """Make the plan for a tree. Call it when Blender may be changed. Raises InvalidParamsError with all mistakes."""
    owner, existing = (None, None) if new else node_tree.find_tree(kind, name)
    tree_type = existing.bl_idname if existing else _TREE_OF.get(kind, "ShaderNodeTree")
    if new and kind == "node_group":
        tree_type = tree.get("type")
        if tree_type not in _GROUPS:
            raise InvalidParamsError(f"A new node group needs a type: one of {', '.join(_GROUPS)}.")
    if new and kind == "scene":
        raise InvalidParamsError("set_node_tree makes no scene: name one that exists.")
    if new and name in getattr(bpy.data, KINDS[kind]):
        raise InvalidParamsError(f"There is a {kind} {quoted(name)} already: leave `new` out to build in it.")
    if (owner or existing) is not None and (owner.library or (existing and existing.library)):
        raise InvalidParamsError(f"{quoted(name)} belongs to a linked library and cannot be changed here.")
    of_scene = (
        node_tree.is_of_scene(existing) if existing else hasattr(owner, "node_tree") and kind == "scene"
    )
    with node_tree.scratch(tree_type, of_scene=of_scene) as bench:
        checked = _Check(bench, existing)
        made = checked.tree(tree)
    if checked.wrong:
        more = len(checked.wrong) - _MOST_TOLD
        told = checked.wrong[:_MOST_TOLD] + ([f"… and {more} more"] if more > 0 else [])
        raise InvalidParamsError("The tree was not built:\n" + "\n".join(told))
    unused = owner is not None and node_tree.is_unused(kind, owner)
    return made | {"owner": [KINDS[kind], name], "new": new, "type": tree_type, "unused": unused}


class _Check:
    """One check of a tree; `wrong` collects the mistakes."""

    def __init__(self, bench: Any, existing: Any) -> None:
        self.bench = bench
        self.existing = existing
        self.wrong: list[str] = []

    def tree(self, tree: Json) -> Json:
        known = {"type", "properties", "use_nodes", "interface", "nodes", "links"}
        self._unknown("the tree", tree, known)
        if "type" in tree and tree["type"] != self.bench.bl_idname:
            self.wrong.append(f"type is {self.bench.bl_idname} here, not {quoted(str(tree['type']))}")
        usual = tree_properties(self.bench)
        told = self._dict(tree, "properties", "the tree")
        self._unknown("properties of the tree", told, usual)
        nodes = [node for node in self._list(tree, "nodes", "the tree") if self._is_node(node)]
        if len(nodes) > _MOST_NODES:
            raise InvalidParamsError(f"{len(nodes):,} nodes are more than the {_MOST_NODES:,} of one tree")
        by_name = {node["name"]: node for node in nodes}
        if len(by_name) < len(nodes):
            twice = sorted({n["name"] for n in nodes if sum(o["name"] == n["name"] for o in nodes) > 1})
            self.wrong.append(f"several nodes are named {', '.join(map(quoted, twice))}")
        interface = None
        if "interface" in tree or (self.existing and len(self.existing.interface.items_tree)):
            interface = list(self._interface(self._list(tree, "interface", "the tree"), None, []))
        now = tree_properties(self.existing) if self.existing else usual
        return {
            "use_nodes": tree.get("use_nodes", True) is True,
            "properties": {
                name: value for name, value in {**usual, **told}.items() if value != now.get(name)
            },
            "interface": interface,
            "nodes": [self._node(node, by_name) for node in nodes],
            "links": list(self._links(self._list(tree, "links", "the tree"), by_name)),
        }

    # --- nodes ----------------------------------------------------------------------------------------------

    def _is_node(self, node: Any) -> bool:
        good = isinstance(node, dict) and all(
            isinstance(node.get(k), str) and node[k] for k in ("name", "type")
        )
        if not good:
            self.wrong.append(f"each node has a name and a type: {quoted(str(node))} has not")
            return False
        most = bpy.types.Node.bl_rna.properties["name"].length_max - 1  # type: ignore[attr-defined]
        if len(node["name"].encode("utf-8", "replace")) > most:
            self.wrong.append(
                f"the name {quoted(node['name'])} is longer than the {most} bytes of a node's name"
            )
            return False
        return True

    def _node(self, node: Json, by_name: Mapping[str, Json]) -> Json:
        where = f"node {quoted(node['name'])}"
        self._unknown(where, node, _NODE_KEYS)
        location = node.get("location", [0, 0])
        if not (isinstance(location, list) and len(location) == 2 and all(map(is_number, location))):
            self.wrong.append(f"{where}: location is two numbers")
        for key in ("parent", "pairs_with"):
            if node.get(key) is not None:
                self._named(f"{where}: {key}", node[key], by_name)
        self._not_above_itself(node, by_name)
        keep = node.get("keep", False) is True
        standard = self._kept(where, node) if keep else self._standard(where, node["type"])
        values = self._dict(node, "properties", where)
        items = self._dict(node, "items", where)
        self._unknown(f"properties of {where}", values, standard.values)
        self._unknown(f"items of {where}", items, standard.values)
        kind = node_tree.node_kind(node["type"]) or bpy.types.Node
        return {
            "name": node["name"],
            "type": node["type"],
            "keep": keep,
            "location": location,
            "parent": node.get("parent"),
            "pairs_with": node.get("pairs_with"),
            "values": self._choices(where, node["type"], self._values(where, kind.bl_rna, values)),
            "items": {name: self._items(where, kind, name, each) for name, each in items.items()},
            "inputs": self._sockets(where, node, "inputs", standard.inputs),
            "outputs": self._sockets(where, node, "outputs", standard.outputs),
            "hidden": self._sides(where, node, "hidden"),
            "pinned": self._sides(where, node, "pinned"),
            "panels": self._panels(where, node),
        }

    def _standard(self, where: str, idname: str) -> Standard:
        found = node_tree.node_standard(self.bench, idname)
        if found is None:
            known = [n for n in dir(bpy.types) if "Node" in n and "Socket" not in n]
            self.wrong.append(
                f"{where}: a {self.bench.bl_idname} has no node of type {quoted(idname)}.{did_you_mean(idname, known)}"
            )
        elif idname.startswith(node_tree.RUNS_OR_READS):
            self.wrong.append(
                f'{where}: a {idname} runs code or works on files and is not made by an assistant; "keep": true keeps '
                "one that is there"
            )
        return found or Standard({}, {}, {})

    def _kept(self, where: str, node: Json) -> Standard:
        there = self.existing.nodes.get(node["name"]) if self.existing else None
        if there is None or there.bl_idname != node["type"]:
            self.wrong.append(f"{where}: there is no such {node['type']} in the tree that could be kept")
        if node.keys() & {"properties", "items", "inputs", "outputs"}:
            self.wrong.append(
                f"{where}: a node that is kept stays as it is; only its links and place can change"
            )
        return Standard({}, {}, {})

    def _not_above_itself(self, node: Json, by_name: Mapping[str, Json]) -> None:
        seen = set()
        at: Json | None = node
        while at is not None and isinstance(at.get("parent"), str):
            if at["name"] in seen:
                self.wrong.append(f"node {quoted(node['name'])} is inside itself: look at its parents")
                return
            seen.add(at["name"])
            at = by_name.get(at["parent"])
            if at is not None and at["type"] != "NodeFrame":
                self.wrong.append(
                    f"node {quoted(node['name'])}: its parent {quoted(at['name'])} is no NodeFrame"
                )
                return

    # --- values ---------------------------------------------------------------------------------------------

    def _values(self, where: str, rna: Any, values: Json) -> Json:
        made = {
            name: self._value(where, rna, name, value)
            for name, value in values.items()
            if name != "particle_system"
        }
        if "particle_system" in values:
            made["particle_system"] = self._particles(where, values["particle_system"], made.get("object"))
        return made

    def _particles(self, where: str, name: Any, owner: Json | None) -> Any:
        """Return a particle system by its name; `owner` is the object that has it, in the form of a plan."""
        if name is None:
            return None
        there = found(owner) if owner else None
        known = [] if there is None else there.particle_systems.keys()
        if name not in known:
            near = did_you_mean(str(name), known)
            self.wrong.append(f"{where}: its object has no particle system {quoted(str(name))}.{near}")
        return {"particles_of": owner, "name": name}

    def _value(self, where: str, rna: Any, name: str, value: Any) -> Any:
        prop = rna.properties.get(name)
        if prop is None:
            self.wrong.append(
                f"{where}: there is no {quoted(name)}.{did_you_mean(name, rna.properties.keys())}"
            )
            return None
        if prop.type == "POINTER":
            if isinstance(value, dict):
                return self._values(f"{where}.{name}", prop.fixed_type, value)
            return self._block(f"{where}: {name}", prop.fixed_type, value)
        if prop.type == "STRING" and prop.subtype in ("FILE_PATH", "DIR_PATH"):
            self.wrong.append(f"{where}: {name} is a path, which an assistant does not set")
        if rna.identifier == "CurveMapping" and name == "curves" and any(len(c) < 2 for c in value):
            self.wrong.append(f"{where}: a curve has two points at least")
        if rna.identifier == "ColorRamp" and name == "elements" and not 1 <= len(value) <= 32:
            self.wrong.append(f"{where}: a colour ramp has 1 to 32 elements")
        if prop.type == "ENUM" and prop.is_enum_flag:
            return self._flags(where, prop, value)
        if prop.type == "FLOAT" and isinstance(value, str):
            return self._float(where, name, value)
        return value

    def _flags(self, where: str, prop: Any, value: Any) -> Json:
        """Return several choices of an enum flag, in a form that marks a set, since JSON has none."""
        known = prop.enum_items.keys()
        for choice in value if isinstance(value, list) else [value]:
            if choice not in known:
                near = did_you_mean(str(choice), known)
                self.wrong.append(f"{where}: {prop.identifier} is a list of {', '.join(known)}.{near}")
        return {"set": value}

    def _choices(self, where: str, idname: str, values: Json) -> Json:
        """Check words that a new node does not offer: they may depend on settings, such as a scene's layers."""
        rna = (node_tree.node_kind(idname) or bpy.types.Node).bl_rna
        props = {name: rna.properties[name] for name in values if name in rna.properties}
        enums = {n: values[n] for n, prop in props.items() if prop.type == "ENUM" and not prop.is_enum_flag}
        if all(isinstance(v, str) and v in props[name].enum_items for name, v in enums.items()):
            return values
        node = self.bench.nodes.new(idname)
        for name, value in values.items():
            if isinstance(value, dict) and "block" in value and all(value["block"][:2]):
                setattr(node, name, found(value))
        for _ in range(len(enums)):
            refused = [error for name, value in enums.items() if (error := _try(node, name, value))]
        self.wrong += [f"{where}: {error}" for error in refused]
        self.bench.nodes.remove(node)
        return values

    def _float(self, where: str, name: str, value: str) -> Any:
        try:
            return float(value)
        except ValueError:
            self.wrong.append(f"{where}: {name} is a number, not {quoted(value)}")
            return 0.0

    def _block(self, where: str, held: Any, value: Any) -> Any:
        if value is None:
            return None
        name, library = value if isinstance(value, list) and len(value) == 2 else (value, None)
        collection = next((c for k, c in COLLECTIONS.items() if k == held.identifier), None)
        blocks = getattr(bpy.data, collection) if collection else {}
        if not isinstance(name, str):
            self.wrong.append(f"{where} is the name of a data-block, not {quoted(str(value))}")
            return None
        found = blocks.get((name, library)) if library else blocks.get(name)
        if found is None:
            self.wrong.append(
                f"{where}: there is no {held.name} {quoted(name)}.{did_you_mean(name, blocks.keys())}"
            )
        elif isinstance(found, bpy.types.NodeTree) and self._contains_this(found):
            self.wrong.append(f"{where}: the group {quoted(name)} would contain itself")
        return {"block": [collection, name, library]}

    def _contains_this(self, group: Any) -> bool:
        return self.existing is not None and (group == self.existing or group.contains_tree(self.existing))

    def _items(self, where: str, kind: Any, name: str, items: Any) -> list[Json]:
        prop = kind.bl_rna.properties.get(name)
        if prop is None or prop.type != "COLLECTION" or not isinstance(items, list):
            self.wrong.append(f"{where}: {quoted(name)} is no list of items")
            return []
        wanted = [p.identifier for p in prop.srna.functions["new"].parameters if not p.is_output]
        made = []
        for item in items:
            if not isinstance(item, dict):
                self.wrong.append(f"{where}: an item of {name} is an object, not {quoted(str(item))}")
                continue
            usual = {"socket_type": "FLOAT", "name": "Item"}
            arguments = [item.get(key, usual.get(key, "")) for key in wanted]
            made.append({"new": arguments, "values": self._values(f"{where}, {name}", prop.fixed_type, item)})
        return made

    def _sockets(self, where: str, node: Json, side: str, standard: Mapping[str, Any]) -> Json:
        found: Json = {}
        loose = (
            node["type"].startswith("NodeGroup")
            or node["type"].endswith("Group")
            or node_tree.has_items(node["type"])
        )
        loose = loose or bool(node.get("properties"))  # the settings decide which sockets exist
        names = {name for _, _, name in standard.values()} | {f"@{i}" for i in standard}
        for key, value in self._dict(node, side, where).items():
            if standard and not loose and key not in names and key.rpartition("#")[0] not in names:
                near = did_you_mean(key, names)
                self.wrong.append(f"{where} has no socket {quoted(key)} among its {side}.{near}")
            found[key] = self._socket_value(f"{where}, {key}", key, value, standard)
        return found

    def _socket_value(self, where: str, key: str, value: Any, standard: Mapping[str, Any]) -> Any:
        kinds = {
            k for i, (k, _, name) in standard.items() if key in (name, f"@{i}") or key.startswith(name + "#")
        }
        if isinstance(value, str) or (isinstance(value, list) and value and isinstance(value[0], str)):
            held = next((HELD[kind] for kind in kinds if kind in HELD), None)
            if held is not None:
                return self._block(where, getattr(bpy.types, held).bl_rna, value)
            if not kinds & {"NodeSocketString", "NodeSocketMenu"}:
                return (
                    {"any": value} if not isinstance(value, list) else {"any": value[0], "library": value[1]}
                )
        return value

    def _panels(self, where: str, node: Json) -> Json:
        found = self._dict(node, "panels", where)
        if not all(isinstance(closed, bool) for closed in found.values()):
            self.wrong.append(f"{where}: panels says of each identifier whether it is closed: true or false")
        return found

    def _sides(self, where: str, node: Json, key: str) -> Json:
        value = node.get(key, [[], []])
        good = isinstance(value, list) and len(value) == 2 and all(isinstance(side, list) for side in value)
        if not good or not all(isinstance(k, str) for side in value for k in side):
            self.wrong.append(f"{where}: {key} is a list of inputs and a list of outputs")
            return {"inputs": [], "outputs": []}
        return {"inputs": value[0], "outputs": value[1]}

    # --- interface and links --------------------------------------------------------------------------------

    def _interface(self, items: list[Any], parent: int | None, before: list[None]) -> Iterator[Json]:
        for item in items:
            if not isinstance(item, dict) or not (
                {"panel"} <= item.keys() or {"name", "type"} <= item.keys()
            ):
                self.wrong.append(f"an item of the interface is a socket or a panel, not {quoted(str(item))}")
                continue
            index = len(before)
            before.append(None)
            if "panel" in item:
                values = {k: v for k, v in item.items() if k not in ("panel", "items")}
                self._unknown(f"panel {quoted(str(item['panel']))}", values, node_tree.PANEL)
                yield {
                    "panel": True,
                    "name": item["panel"],
                    "parent": parent,
                    "values": node_tree.PANEL | values,
                }
                yield from self._interface(self._list(item, "items", "a panel"), index, before)
                continue
            yield self._interface_socket(item, parent)

    def _interface_socket(self, item: Json, parent: int | None) -> Json:
        where, side = f"socket {quoted(str(item['name']))} of the interface", item.get("in_out", "INPUT")
        if side not in ("INPUT", "OUTPUT"):
            self.wrong.append(f"{where}: in_out is INPUT or OUTPUT, not {quoted(str(side))}")
            side = "INPUT"
        usual = node_tree.interface_standard(self.bench, str(item["type"]), side)
        values = {k: v for k, v in item.items() if k not in ("name", "in_out", "type")}
        if usual is None:
            self.wrong.append(
                f"{where}: no socket here has the type {quoted(str(item['type']))}, such as NodeSocketFloat"
            )
            usual = values
        rna = getattr(bpy.types, str(item["type"]).replace("NodeSocket", "NodeTreeInterfaceSocket"), None)
        menu = {"default_value"} if item["type"] == "NodeSocketMenu" else set()
        self._unknown(where, values, usual.keys() | menu)
        all_values = {**usual, **values}
        if rna is not None:
            all_values = {k: self._value(where, rna.bl_rna, k, v) for k, v in all_values.items()}
        return {
            "panel": False,
            "name": item["name"],
            "type": item["type"],
            "in_out": side,
            "parent": parent,
            "values": all_values,
        }

    def _links(self, links: list[Any], by_name: Mapping[str, Json]) -> Iterator[list[Any]]:
        if len(links) > _MOST_LINKS:
            raise InvalidParamsError(f"{len(links):,} links are more than the {_MOST_LINKS:,} of one tree")
        for number, link in enumerate(links, 1):
            good = isinstance(link, list) and all(isinstance(part, str) for part in link)
            if not good or len(link) not in (4, 5) or link[4:] not in ([], ["muted"]):
                self.wrong.append(
                    f"link {number}: a link is [from node, output, to node, input] and perhaps muted, not "
                    f"{quoted(str(link))}"
                )
                continue
            self._named(f"link {number}", link[0], by_name)
            self._named(f"link {number}", link[2], by_name)
            yield link

    # --- shapes ---------------------------------------------------------------------------------------------

    def _named(self, where: str, name: Any, by_name: Mapping[str, Json]) -> None:
        if not isinstance(name, str) or name not in by_name:
            self.wrong.append(
                f"{where}: there is no node {quoted(str(name))}.{did_you_mean(str(name), by_name)}"
            )

    def _unknown(self, where: str, given: Mapping[str, Any], known: Any) -> None:
        for key in given:
            if key not in known:
                self.wrong.append(f"{where}: {quoted(key)} is not known.{did_you_mean(key, known)}")

    def _dict(self, owner: Json, key: str, where: str) -> Json:
        value = owner.get(key, {})
        if isinstance(value, dict):
            return value
        self.wrong.append(f"{where}: {key} is an object")
        return {}

    def _list(self, owner: Json, key: str, where: str) -> list[Any]:
        value = owner.get(key, [])
        if isinstance(value, list):
            return value
        self.wrong.append(f"{where}: {key} is a list")
        return []


def _try(node: Any, name: str, value: Any) -> str:
    """Set an enum of a temporary node; return an empty text, or the reason with similar choices."""
    try:
        setattr(node, name, value)
    except TypeError as error:
        known = node.bl_rna.properties[name].enum_items.keys()
        return f"{name} cannot be {quoted(str(value))}.{did_you_mean(str(value), known)} {error}"
    return ""
