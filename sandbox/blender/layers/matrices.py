# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses layers of 4 × 4 matrices: Blender before 5.2 crashes when it mixes their values while it changes a mesh.

Blender expects each value at a multiple of 16 bytes. In a BMesh, on which many modifiers, nodes and edit mode work,
it mostly lies elsewhere, whatever the domain. Layers of instances, curves and points become layers of meshes, and so
do fields that nodes capture or give out. So a script makes no such layer of anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import bpy

from ...facts.members import names
from ...guard.seam import BlenderHost

__all__ = (
    "CRASHES",
    "ITEM_FUNCTIONS",
    "MATRICES",
    "NODES",
    "TYPES",
    "check_item",
    "check_link",
    "check_output",
    "check_type",
    "check_written",
)

CRASHES: Final = bpy.app.version < (5, 2)
ITEM_FUNCTIONS: Final = names("functions that make layers of nodes") if CRASHES else frozenset()
"""Functions that make an item of a node that becomes a layer, of the type `socket_type`."""
TYPES: Final = names("types of layers") if CRASHES else frozenset()
"""Properties, `Struct.property`, that set the type of a layer that nodes make."""
NODES: Final = names("nodes that make layers") if CRASHES else frozenset()
"""Nodes for which a link makes an item that becomes a layer, or an output of the group."""
MATRICES: Final = frozenset({"FLOAT4X4", "MATRIX", "NodeSocketMatrix"})


def check_type(host: BlenderHost, kind: Any) -> None:
    """Refuse to make a layer of this type if it is a type of matrices."""
    if CRASHES and kind in MATRICES:
        host.refuse(
            "this Blender crashes when it changes a mesh with a layer of 4 x 4 matrices: store their columns in four "
            "layers of type 'FLOAT_COLOR', or translation, rotation and scale in layers of type 'FLOAT_VECTOR'"
        )


def check_item(host: BlenderHost, _owner: Any, arguments: Mapping[str, Any]) -> None:
    """Refuse to make an item of a node that would become a layer of matrices."""
    _check_nodes(host, arguments.get("socket_type"))


def check_written(host: BlenderHost, value: Any, new: Any) -> None:
    """Refuse to write a type of matrices to one of the properties `TYPES`."""
    if getattr(value, "in_out", "OUTPUT") == "OUTPUT":  # an input of a group is no layer
        _check_nodes(host, new)


def check_output(host: BlenderHost, socket: Any) -> None:
    """Refuse an output of a node group that may become a layer of matrices."""
    if CRASHES and socket is not None and socket.in_out == "OUTPUT":
        _check_nodes(host, socket.socket_type)


def check_link(host: BlenderHost, link: Any) -> None:
    """Refuse a link that has made an item of a node, or an output of a group, for a layer of matrices."""
    ends = {link.from_node.bl_idname, link.to_node.bl_idname}
    if ends & NODES:
        for socket in (link.from_socket, link.to_socket):
            _check_nodes(host, type(socket).__name__)


def _check_nodes(host: BlenderHost, kind: Any) -> None:
    if CRASHES and kind in MATRICES:
        host.refuse(
            "this Blender crashes when it changes a mesh with a layer of 4 x 4 matrices, which these nodes would make: "
            "take the matrix apart by the node Separate Transform, and use its translation, rotation and scale"
        )
