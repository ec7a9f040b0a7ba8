# SPDX-License-Identifier: GPL-3.0-or-later
"""An extension that offers two tools to assistants through MCP Bridge, where that is enabled too.

It does not import MCP Bridge: whichever of the two is enabled last, MCP Bridge calls `register_mcp_tools`.
"""

from __future__ import annotations

from typing import Literal

import bpy


def measure_faces(object_name: str, evaluated: bool = True) -> dict[str, float]:
    """The number of faces of a mesh object and their area in square metres.

    object_name: such as Cube.
    evaluated: with its modifiers.
    """
    found = _mesh_object(object_name)
    if evaluated:
        found = found.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = found.to_mesh()
    area = sum(polygon.area for polygon in mesh.polygons)
    faces = len(mesh.polygons)
    found.to_mesh_clear()
    return {"faces": faces, "area_m2": area}


def set_origin_to(object_name: str, point: Literal["bottom", "middle"] = "bottom") -> dict[str, list[float]]:
    """Move a mesh object's origin to the bottom or the middle of its geometry; the geometry stays where it is.

    object_name: such as Cube.
    """
    found = _mesh_object(object_name)
    corners = [tuple(corner) for corner in found.bound_box]
    lows, highs = [[pick(axis) for axis in zip(*corners, strict=True)] for pick in (min, max)]
    middle = [(low + high) / 2 for low, high in zip(lows, highs, strict=True)]
    target = [middle[0], middle[1], lows[2] if point == "bottom" else middle[2]]
    for vertex in found.data.vertices:
        vertex.co = [value - offset for value, offset in zip(vertex.co, target, strict=True)]
    found.location = found.matrix_world @ type(found.location)(target)
    return {"location": list(found.location)}


def _mesh_object(name: str) -> bpy.types.Object:
    found = bpy.data.objects.get(name)
    if found is None or found.type != "MESH":
        raise ValueError(f"there is no mesh object named {name!r}")
    return found


def register_mcp_tools(add) -> None:
    """MCP Bridge calls this when both extensions are enabled, and takes the tools away when this one is disabled."""
    add(measure_faces, title="Measure Faces", read_only=True)
    add(set_origin_to, title="Set Origin To", destructive=False, idempotent=True)


def register() -> None:
    """Nothing else to register."""


def unregister() -> None:
    """Nothing to take back: MCP Bridge sees that this extension is disabled."""
