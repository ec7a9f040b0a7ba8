# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes materials, collections and names of data-blocks. Colors are linear, 0 to 1. Main thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import bpy

from .overview import find

__all__ = ("NAMES", "collection_info", "material_info", "materials", "operators")


def materials() -> list[dict[str, Any]]:
    """Return a short entry for every material of the file."""
    return [
        {"name": one.name, "users": one.users, "uses_nodes": _uses_nodes(one), "library": _library(one)}
        for one in bpy.data.materials
    ]


def material_info(name: str) -> dict[str, Any]:
    """Describe a material with its nodes and the objects that use it. Raises InvalidParamsError for an unknown name."""
    material = find(bpy.data.materials, name, "material")
    tree = material.node_tree if _uses_nodes(material) else None
    return {
        "name": material.name,
        "users": material.users,
        "objects": [one.name for one in bpy.data.objects if material.name in one.material_slots],
        "diffuse_color": [round(channel, 6) for channel in material.diffuse_color],
        "metallic": round(material.metallic, 6),
        "roughness": round(material.roughness, 6),
        "nodes": [_node(node) for node in tree.nodes] if tree else [],
        "links": [_link(link) for link in tree.links] if tree else [],
        "library": _library(material),
    }


def collection_info(name: str) -> dict[str, Any]:
    """Describe a collection with its direct objects and children. Raises InvalidParamsError for an unknown name."""
    collection = find(bpy.data.collections, name, "collection")
    return {
        "name": collection.name,
        "objects": collection.objects.keys(),
        "all_objects": len(collection.all_objects),
        "children": collection.children.keys(),
        "hide_viewport": collection.hide_viewport,
        "hide_render": collection.hide_render,
        "library": _library(collection),
    }


def operators() -> list[str]:
    """Return the names of all operators of this Blender, in the form `mesh.primitive_cube_add`."""
    return [f"{group}.{name}" for group in dir(bpy.ops) for name in dir(getattr(bpy.ops, group))]


#: Kind -> the names of that kind, for completing them in a text.
NAMES: Mapping[str, Callable[[], list[str]]] = {
    "object": lambda: bpy.data.objects.keys(),
    "material": lambda: bpy.data.materials.keys(),
    "collection": lambda: bpy.data.collections.keys(),
    "scene": lambda: bpy.data.scenes.keys(),
    "operator": operators,
}


def _uses_nodes(material: Any) -> bool:
    """Return whether a material uses its nodes. Since Blender 5.0 every material does."""
    return bpy.app.version >= (5, 0, 0) or bool(material.use_nodes)


def _node(node: Any) -> dict[str, Any]:
    described = {"name": node.name, "type": node.bl_idname, "inputs": dict(_values(node))}
    if node.type == "TEX_IMAGE" and node.image:
        described["image"] = node.image.name
    return described


def _values(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of a node's unlinked sockets."""
    for socket in node.inputs:
        if socket.is_linked or not hasattr(socket, "default_value"):
            continue
        value = socket.default_value
        if isinstance(value, (bool, int, str)):
            yield socket.name, value
        elif isinstance(value, float):
            yield socket.name, round(value, 6)
        elif hasattr(value, "__len__"):
            yield socket.name, [round(component, 6) for component in value]


def _link(link: Any) -> list[str]:
    return [
        f"{link.from_node.name}/{link.from_socket.name}",
        f"{link.to_node.name}/{link.to_socket.name}",
    ]


def _library(block: Any) -> str | None:
    return block.library.filepath if block.library else None
