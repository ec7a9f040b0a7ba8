# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes node trees with every type of node that this Blender offers, and with unusual settings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import bpy
from bl_ext.user_default.mcp_bridge.sandbox.blender.layers.matrices import MATRICES, TYPES

from support.running import blender

__all__ = ("TREES", "every_type", "fill", "snapshot", "vary")

TREES = ("ShaderNodeTree", "GeometryNodeTree", "CompositorNodeTree", "TextureNodeTree")
_LEFT = frozenset(
    "rna_type name type parent select active_index active_item show_texture location location_absolute "
    "add remove socket_idname script bytecode is_active_output".split()
)
_PARTS = ("ColorRamp", "CurveMapping", "TexMapping", "ColorMapping", "ImageUser")
#: The collection that makes a data-block for a pointer of this type.
_BLOCKS = {"Object": "objects", "Material": "materials", "Collection": "collections", "Text": "texts",
           "Scene": "scenes", "Mask": "masks"}  # fmt: skip


def every_type(tree: Any) -> list[str]:
    """Return the idnames of all nodes that this tree allows."""
    found = []
    for name in dir(bpy.types):
        kind = getattr(bpy.types, name)
        if isinstance(kind, type) and issubclass(kind, bpy.types.Node):
            try:
                tree.nodes.new(name)
            except RuntimeError:
                continue
            found.append(name)
    tree.nodes.clear()
    return found


def fill(tree: Any, names: list[str], turn: int) -> None:
    """Put one node of each of these types into the tree, its settings varied by `turn`."""
    tree.nodes.clear()
    for number, name in enumerate(names):
        node = tree.nodes.new(name)
        node.location = (number * 37.5, -turn * 12.25)
        vary(node, turn + number)
        for panel in list(getattr(node, "panel_states", ()))[turn::2]:  # from Blender 5.2 on
            panel.is_collapsed = not panel.is_collapsed
        for socket in node.inputs:
            _vary_socket(socket, turn + number)
        for socket in node.outputs:
            socket.hide = turn == 2
        if node.bl_idname in ("ShaderNodeValue", "ShaderNodeRGB", "ShaderNodeNormal", "CompositorNodeNormal"):
            node.outputs[0].hide = False
            _vary_socket(node.outputs[0], 1)


def vary(item: Any, turn: int) -> None:
    """Change the settings from those of a new node; settings that Blender refuses stay."""
    for prop in item.bl_rna.properties:
        name = prop.identifier
        if name in _LEFT or name.startswith(("bl_", "active_")):
            continue
        try:
            if prop.type == "COLLECTION":
                _vary_items(item, prop, turn)
            elif prop.type == "POINTER":
                _vary_pointer(item, prop, turn)
            elif not prop.is_readonly:
                _vary_value(item, prop, turn)
        except (TypeError, ValueError, AttributeError):
            continue


def _vary_value(item: Any, prop: Any, turn: int) -> None:
    name = prop.identifier
    if prop.type == "ENUM" and prop.is_enum_flag:
        setattr(item, name, {prop.enum_items.keys()[turn % len(prop.enum_items)]})
    elif prop.type == "ENUM":
        _vary_choice(item, prop, turn)
    elif prop.type == "BOOLEAN" and not prop.is_array:
        setattr(item, name, (not prop.default) if turn % 2 else prop.default)
    elif prop.type in ("INT", "FLOAT") and turn % 5 != 4:
        setattr(item, name, _other_number(prop, prop.default if prop.is_array else getattr(item, name), turn))
    elif prop.type == "STRING" and prop.subtype == "NONE":
        setattr(item, name, f"x{turn}")


def _vary_choice(item: Any, prop: Any, turn: int) -> None:
    """Set another choice than a new node's: the first after `turn` that Blender accepts with the other settings."""
    name, known = prop.identifier, list(prop.enum_items.keys())
    refused = MATRICES if f"{item.bl_rna.identifier}.{name}" in TYPES else ()
    choices = [choice for choice in known if choice != getattr(item, name) and choice not in refused]
    for number in range(turn, turn + len(choices)):
        try:
            setattr(item, name, choices[number % len(choices)])
        except TypeError:
            continue
        return


def _other_number(prop: Any, now: Any, turn: int) -> Any:
    value: Any = min(max(now + 1 + turn % 3, prop.hard_min), prop.hard_max, 160)
    if value == now:
        value = (prop.hard_min + now) / 2
    value = value if prop.type == "FLOAT" else int(value)
    return [value * 0.3] * prop.array_length if prop.is_array and prop.type == "FLOAT" else value


def _vary_pointer(item: Any, prop: Any, turn: int) -> None:
    held = prop.fixed_type.identifier
    if prop.is_readonly:
        if held in _PARTS:
            _vary_part(getattr(item, prop.identifier))
    elif held == "Image":
        # After a Cryptomatte node gets a layer, Blender no longer knows the layers of its picture.
        layered = turn % 2 == 1 and not item.bl_rna.identifier.startswith("CompositorNodeCryptomatte")
        setattr(item, prop.identifier, _image(layered=layered))
    elif held == "MovieClip":
        setattr(item, prop.identifier, bpy.data.movieclips.load(_layered(), check_existing=True))
    elif held == "ParticleSystem":
        item.particle_system = _with_particles().particle_systems["Sparks"]
    elif held == "VectorFont":
        setattr(item, prop.identifier, bpy.data.fonts.load("<builtin>", check_existing=True))
    elif held == "Texture":
        blocks = bpy.data.textures
        setattr(item, prop.identifier, blocks.get("Variety") or blocks.new("Variety", "WOOD"))
    elif held == "NodeTree":
        kind, blocks = item.id_data.bl_idname, bpy.data.node_groups
        setattr(item, prop.identifier, blocks.get(f"Variety {kind}") or blocks.new(f"Variety {kind}", kind))
    elif held in _BLOCKS:
        setattr(item, prop.identifier, _block(held))


_LAYERED = """
scene = bpy.context.scene
scene.view_layers.new("Second")
scene.render.resolution_x = scene.render.resolution_y = 4
scene.render.engine, scene.cycles.samples, scene.render.threads_mode = "CYCLES", 1, "FIXED"
scene.render.use_multiview = True
kind = scene.render.image_settings
if hasattr(kind, "media_type"):
    kind.media_type = "MULTI_LAYER_IMAGE"
kind.file_format, kind.views_format = "OPEN_EXR_MULTILAYER", "MULTIVIEW"
scene.render.filepath = {path!r}
bpy.ops.render.render(write_still=True)
"""


@cache
def _layered() -> str:
    """Return a picture with two layers and two views.

    Another Blender makes it: rendering starts threads, and this one is forked.
    """
    home = Path(bpy.app.tempdir) / "layered"
    home.mkdir()
    path = home / "layered.exr"
    env = blender.environment(home, installed=False)
    blender.run(_LAYERED.format(path=str(path)), env, enabled=False)
    return str(path)


def _image(*, layered: bool) -> Any:
    if layered:
        return bpy.data.images.load(_layered(), check_existing=True)
    return bpy.data.images.get("Variety") or bpy.data.images.new("Variety", 4, 4)


def _with_particles() -> Any:
    made = bpy.data.objects.get("Sparkling")
    if made is None:
        made = bpy.data.objects.new("Sparkling", bpy.data.meshes.new("Sparkling"))
        bpy.context.scene.collection.objects.link(made)
        made.modifiers.new("Sparks", "PARTICLE_SYSTEM").particle_system.name = "Sparks"
    return made


def _block(held: str) -> Any:
    blocks = getattr(bpy.data, _BLOCKS[held])
    made = blocks.get("Variety")
    return made or (blocks.new("Variety", None) if held == "Object" else blocks.new("Variety"))


def _vary_items(item: Any, prop: Any, turn: int) -> None:
    new = prop.srna.functions.get("new") if prop.srna else None
    if new is None or prop.identifier in ("inputs", "outputs") or turn % 3 == 0:
        return
    for number, kind in enumerate(("FLOAT", "VECTOR")):
        wanted = [p.identifier for p in new.parameters if not p.is_output]
        given = {"socket_type": kind, "name": f"Thing {turn}.{number}"}
        try:
            made = getattr(item, prop.identifier).new(*[given[w] for w in wanted])
        except RuntimeError:  # not every list takes vectors
            continue
        vary_item(made, turn)


def vary_item(made: Any, turn: int) -> None:
    for prop in made.bl_rna.properties:
        if prop.identifier not in ("name", "socket_type") and prop.type in ("ENUM", "BOOLEAN"):
            try:
                _vary_value(made, prop, turn)
            except (TypeError, AttributeError):
                continue


def _vary_part(part: Any) -> None:
    if part.bl_rna.identifier == "ColorRamp":
        part.elements.new(0.31).color = (0.2, 0.4, 0.6, 0.5)
        part.color_mode, part.interpolation = "HSV", "LINEAR"
    elif part.bl_rna.identifier != "CurveMapping":
        vary(part, 1)
    else:
        part.curves[0].points.new(0.41, 0.73).handle_type = "VECTOR"
        part.update()


def _vary_socket(socket: Any, turn: int) -> None:
    if turn % 4 == 0:
        socket.hide = True
    value = getattr(socket, "default_value", None)
    if isinstance(value, bool):
        socket.default_value = not value
    elif isinstance(value, int):
        socket.default_value = value + 3
    elif isinstance(value, float):
        socket.default_value = value * 0.5 + 0.7
    elif isinstance(value, str) and socket.type == "STRING":
        socket.default_value = "text ünï"
    elif hasattr(value, "__len__") and not isinstance(value, str):
        socket.default_value = [part + 3 if isinstance(part, int) else part * 0.5 + 0.1 for part in value]


def snapshot(tree: Any) -> dict[str, Any]:
    """Return all that RNA says of a tree's nodes, sockets and links, without using the code under test."""
    return {
        "nodes": {node.name: _all(node, 0) for node in tree.nodes},
        "order": [node.name for node in tree.nodes],
        "parents": {node.name: getattr(node.parent, "name", None) for node in tree.nodes},
        "sockets": {
            node.name: [
                [
                    (s.name, s.bl_idname, s.enabled, s.hide, _plain(getattr(s, "default_value", None)))
                    for s in side
                ]
                for side in (node.inputs, node.outputs)
            ]
            for node in tree.nodes
        },
        "links": sorted(_link(link) for link in tree.links),
        "interface": [(i.item_type, i.name, i.parent.index, _all(i, 1)) for i in tree.interface.items_tree]
        if tree.interface
        else [],
    }


def _link(link: Any) -> Any:
    source, target = link.from_node, link.to_node
    return (
        (source.name, list(source.outputs).index(link.from_socket)),
        (target.name, list(target.inputs).index(link.to_socket)),
        link.multi_input_sort_id if link.to_socket.is_multi_input else 0,
        link.is_muted,
    )


_NOT_COMPARED = frozenset(
    "persistent_uid add remove rna_type parent inputs outputs internal_links active_item active_index select "
    "show_texture dimensions "
    "enum_definition paired_output identifier index position bl_icon location_absolute interface_items "
    "debug_lazy_function_graph debug_zone_body_lazy_function_graph debug_zone_lazy_function_graph".split()
)


def _all(item: Any, depth: int) -> dict[str, Any]:
    return dict(_each(item, depth))


def _each(item: Any, depth: int) -> Iterator[tuple[str, Any]]:
    for prop in item.bl_rna.properties:
        name = prop.identifier
        if name in _NOT_COMPARED or name.startswith("active_"):
            continue
        value = getattr(item, name)
        if prop.type == "COLLECTION":
            yield name, [_all(each, depth + 1) for each in value] if depth < 4 else None
        elif prop.type == "POINTER" and value is not None and not isinstance(value, bpy.types.ID):
            yield name, _all(value, depth + 1) if depth < 4 else None
        else:
            yield name, _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, bpy.types.ID):
        return value.name_full
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return [_plain(part) for part in value]
