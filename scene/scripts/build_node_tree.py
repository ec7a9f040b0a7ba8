# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: ignore-errors
"""Builds a node tree for set_node_tree: this text runs as a script, with `PLAN` before it."""

import bpy


def plain(value):
    """Return a value of the plan as Blender takes it.

    A data-block is written {"block": [collection, name, library]}, several choices {"set": [...]}, and a particle
    system {"particles_of": {"block": …}, "name": name}.
    """
    if isinstance(value, dict) and "set" in value:
        return set(value["set"])
    if isinstance(value, dict) and "particles_of" in value:
        return plain(value["particles_of"]).particle_systems[value["name"]]
    if isinstance(value, dict) and "block" in value:
        collection, name, library = value["block"]
        blocks = getattr(bpy.data, collection)
        return blocks[name, library] if library else blocks[name]
    return value


def put(owner, values, where):
    """Set properties, twice: what one allows depends on the others, so all have to hold the second time."""
    for last in (False, True) if values else ():
        for name, value in values.items():
            try:
                if isinstance(value, dict) and not value.keys() & {"block", "set", "particles_of"}:
                    put_part(getattr(owner, name), value, f"{where}, {name}")
                else:
                    setattr(owner, name, plain(value))
            except (TypeError, ValueError) as error:
                if last:
                    raise ValueError(f"{where}: {name} cannot be {value!r}: {error}") from None


def put_part(part, values, where):
    """Set a colour ramp, curves, or a group of settings."""
    put(part, {name: value for name, value in values.items() if name not in ("elements", "curves")}, where)
    if "elements" in values:
        put_elements(part.elements, values["elements"])
    if "curves" in values:
        for curve, points in zip(part.curves, values["curves"], strict=False):
            put_points(curve.points, points)
        part.update()


def put_elements(elements, stops):
    """Set the elements of a colour ramp to these stops: positions and colours."""
    while len(elements) > len(stops):
        elements.remove(elements[len(elements) - 1])
    while len(elements) < len(stops):
        elements.new(1.0)
    for index, (position, *color) in enumerate(stops):
        element = elements[index]  # each change makes Blender look through the whole tree
        if element.position != position:
            element.position = position
        if list(element.color) != color:
            element.color = color


def put_points(points, wanted):
    """Set the points of a curve to these: places and handles."""
    while len(points) > len(wanted):
        points.remove(points[1])
    while len(points) < len(wanted):
        points.new(0.5, 0.5)
    for index, (x, y, handle) in enumerate(wanted):
        points[index].location = (x, y)
        points[index].handle_type = handle


def find(node, side, key):
    """Return a socket by its name, Name#2 or @identifier."""
    sockets = getattr(node, side)
    if key.startswith("@"):
        found = [s for s in sockets if s.identifier == key[1:]]
    else:
        found = [s for s in sockets if s.enabled and s.name == key]
        name, _, number = key.rpartition("#")
        if not found and number.isdigit():
            found = [s for s in sockets if s.enabled and s.name == name][int(number) - 1 : int(number)]
    if not found:
        known = ", ".join(repr(s.name) for s in sockets if s.enabled and s.name)
        raise ValueError(
            f"node {node.name!r} has no socket {key!r} among its {side}; it has {known or 'none'}"
        )
    return found[0]


HOLDS = {
    "OBJECT": "objects",
    "COLLECTION": "collections",
    "IMAGE": "images",
    "MATERIAL": "materials",
    "TEXTURE": "textures",
    "FONT": "fonts",
    "SOUND": "sounds",
    "SCENE": "scenes",
    "TEXT": "texts",
}


def for_socket(socket, value):
    """Return a value for a finished socket, which shows whether a text is the name of a data-block."""
    if isinstance(value, dict) and "any" in value:
        if socket.type in HOLDS:
            return plain({"block": [HOLDS[socket.type], value["any"], value.get("library")]})
        return value["any"]
    return plain(value)


#: The type of a new light or texture: their makers require one.
NEW_KINDS = {"lights": "POINT", "textures": "NONE"}


def find_tree(plan):
    """Return the tree; make it if there is none."""
    collection, name = plan["owner"]
    blocks = getattr(bpy.data, collection)
    if plan["new"]:
        kind = plan["type"] if collection == "node_groups" else NEW_KINDS.get(collection)
        owner = blocks.new(name, kind) if kind else blocks.new(name)
    else:
        owner = blocks[name]
    if collection == "node_groups":
        return owner
    if collection == "scenes" and hasattr(owner, "compositing_node_group"):
        if owner.compositing_node_group is None:
            owner.compositing_node_group = bpy.data.node_groups.new("Compositing", plan["type"])
        return owner.compositing_node_group
    if owner.node_tree is None or plan["unused"]:
        owner.use_nodes = True
    return owner.node_tree


def build_interface(interface, wanted):
    """Set the sockets and panels of a group. Existing ones stay: the group's users have links to them."""
    spare = {}
    for item in interface.items_tree:
        kind = (
            ("panel", item.name) if item.item_type == "PANEL" else (item.in_out, item.socket_type, item.name)
        )
        spare.setdefault(kind, []).append(item.index)
    there = list(interface.items_tree)
    made = []
    for item in wanted:
        kind = ("panel", item["name"]) if item["panel"] else (item["in_out"], item["type"], item["name"])
        if spare.get(kind):
            made.append(there[spare[kind].pop(0)])
        elif item["panel"]:
            made.append(interface.new_panel(item["name"]))
        else:
            made.append(interface.new_socket(item["name"], in_out=item["in_out"], socket_type=item["type"]))
    for index in sorted((i for left in spare.values() for i in left), reverse=True):
        interface.remove(there[index], move_content_to_parent=True)
    late = []
    for item, new in zip(wanted, made, strict=True):
        if item["parent"] is not None:
            interface.move_to_parent(new, made[item["parent"]], 1000000)
        else:
            interface.move(new, 1000000)
        values = dict(item["values"])
        if item.get("type") == "NodeSocketMenu" and values.get("default_value"):
            late.append((f"socket {item['name']!r} of the interface", new, values.pop("default_value")))
        put(new, values, f"{item['name']!r} of the interface")
    return late


def build_node(tree, plan):
    """Make one node, without its links, and return it."""
    if plan["keep"]:
        return tree.nodes[plan["name"]]
    node = tree.nodes.new(plan["type"])
    node.name = plan["name"]
    where = f"node {node.name!r}"
    put(node, plan["values"], where)
    for name, items in plan["items"].items():
        collection = getattr(node, name)
        collection.clear()
        for item in items:
            new = collection.new(*item["new"])
            put(new, item["values"], f"{where}, {name}")
    return node


def put_sockets(node, side, values):
    """Set values of sockets; return those that have to wait until the links are there, as menus do."""
    late = []
    for key, value in values.items():
        socket = find(node, side, key)
        try:
            socket.default_value = for_socket(socket, value)
        except (TypeError, ValueError, KeyError):
            late.append((f"node {node.name!r}, {side[:-1]} {key!r}", socket, value))
    return late


def put_panels(node, wanted):
    """Close and open panels, by identifier."""
    there = {str(panel.identifier): panel for panel in getattr(node, "panel_states", ())}
    for key, closed in wanted.items():
        if key not in there:
            raise ValueError(f"node {node.name!r} has no panel {key!r}; it has {', '.join(there) or 'none'}")
        there[key].is_collapsed = closed


def unfit(links):
    """Return the links that Blender shows in red: their sockets don't go together, or they lead in a circle."""
    wrong = [link for link in links if not link.is_valid]
    return [
        [link.from_node.name, link.from_socket.name, link.to_node.name, link.to_socket.name] for link in wrong
    ]


def build(plan):
    """Build the tree by the plan. Return how many nodes and links it has, and which links do not fit."""
    tree = find_tree(plan)
    put(tree, plan["properties"], "the tree")
    late = build_interface(tree.interface, plan["interface"]) if plan["interface"] is not None else []
    kept = {node["name"] for node in plan["nodes"] if node["keep"]}
    if not kept:
        tree.nodes.clear()  # removing them one by one takes the square of their number
    for node in list(tree.nodes):
        if node.name not in kept:
            tree.nodes.remove(node)
    tree.links.clear()
    nodes = {node["name"]: build_node(tree, node) for node in plan["nodes"]}
    for node in plan["nodes"]:
        if node["pairs_with"] and not nodes[node["name"]].pair_with_output(nodes[node["pairs_with"]]):
            raise ValueError(f"node {node['name']!r} cannot be paired with {node['pairs_with']!r}")
    for node in plan["nodes"]:
        if node["parent"] or node["keep"]:
            nodes[node["name"]].parent = nodes[node["parent"]] if node["parent"] else None
    for node in plan["nodes"]:
        nodes[node["name"]].location = node["location"]
    for node in plan["nodes"]:
        for side in ("inputs", "outputs"):
            late += put_sockets(nodes[node["name"]], side, node[side])
            for key in node["hidden"][side]:
                find(nodes[node["name"]], side, key).hide = True
            for key in node["pinned"][side]:
                find(nodes[node["name"]], side, key).pin_gizmo = True
        if node["panels"]:
            put_panels(nodes[node["name"]], node["panels"])
    for source, output, target, entry, *muted in plan["links"]:
        link = tree.links.new(find(nodes[target], "inputs", entry), find(nodes[source], "outputs", output))
        if muted:
            link.is_muted = True
    for where, owner, value in late:
        try:
            owner.default_value = for_socket(owner, value)
        except (TypeError, ValueError, KeyError) as error:
            told = value["any"] if isinstance(value, dict) and "any" in value else value
            raise ValueError(f"{where} cannot be {told!r}: {error}") from None
    if not plan["use_nodes"] and plan["owner"][0] != "node_groups":
        getattr(bpy.data, plan["owner"][0])[plan["owner"][1]].use_nodes = False
    done = {"nodes": len(tree.nodes), "links": len(tree.links)}
    wrong = unfit(tree.links)
    return {**done, "invalid_links": wrong} if wrong else done
