# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how many metres of an object's surface one unit of its texture coordinates covers. Main thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mathutils import geometry

__all__ = ("Surface", "measure")

#: Triangles to measure, spread over the mesh: enough for a good average without blocking Blender for a large mesh.
_SAMPLE = 4000


@dataclass(frozen=True, slots=True)
class Surface:
    """A surface: `metres` for one unit of its texture coordinates, which are the object's own without a UV map."""

    has_uv: bool
    metres: float


def measure(item: Any) -> Surface:
    """Measure the surface of an object, including its scale, in metres by the scene's units."""
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
