# SPDX-License-Identifier: GPL-3.0-or-later
"""How large an object's surface is where its texture coordinates go from 0 to 1. Main thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mathutils import geometry

__all__ = ("Surface", "measure")

#: So many triangles, spread over the mesh, tell enough; a large mesh must not hold up Blender.
_SAMPLE = 4000


@dataclass(frozen=True, slots=True)
class Surface:
    """`metres` of the surface a unit of its coordinates; without a UV map these are the object's own."""

    has_uv: bool
    metres: float


def measure(item: Any) -> Surface:
    """The surface of an object, with its scale, in metres of its scene's units."""
    by_uv = _by_uv(item) if item.type == "MESH" else None
    if by_uv is not None:
        return Surface(True, by_uv)
    return Surface(False, sum(abs(factor) for factor in item.matrix_world.to_scale()) / 3)


def _by_uv(item: Any) -> float | None:
    mesh = item.data
    layer = mesh.uv_layers.active
    if layer is None:
        return None
    mesh.calc_loop_triangles()
    triangles = mesh.loop_triangles
    place = item.matrix_world
    area = flat = 0.0
    for index in range(0, len(triangles), max(1, len(triangles) // _SAMPLE)):
        triangle = triangles[index]
        area += geometry.area_tri(*(place @ mesh.vertices[vertex].co for vertex in triangle.vertices))
        flat += geometry.area_tri(*(layer.data[loop].uv for loop in triangle.loops))
    return (area / flat) ** 0.5 if flat > 1e-12 and area > 0 else None
