# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks and fills what a script adds to a mesh part by part: Blender follows it at once, even before it is filled."""

from __future__ import annotations

from array import array
from typing import Any, Final

from ..guard.meter import closed
from ..guard.seam import BlenderHost

__all__ = ("FEWEST_LOOPS", "check_room", "fill")

FEWEST_LOOPS: Final = 3
"""The fewest loops of a face: for a face with fewer, Blender writes triangles beyond their array."""


def check_room(owner: Any, function: str, count: int) -> None:
    """Check whether a mesh has what `count` more edges, loops or faces refer to as soon as they exist.

    Raises:
        ValueError: the mesh lacks vertices for edges and loops, or loops for faces.
    """
    mesh, kind = owner.id_data, type(owner[0]).__name__ if len(owner) else owner.rna_type.identifier
    if count < 1:
        return
    if not kind.startswith("MeshPolygon"):
        if not len(mesh.vertices):
            raise ValueError(f"{function}: the mesh has no vertices yet: add these first")
        return
    loops, faces = len(mesh.loops), len(owner)
    used = mesh.polygons[faces - 1].loop_start + FEWEST_LOOPS if faces else 0
    if loops - used < FEWEST_LOOPS * count:
        raise ValueError(
            f"{function}: {count:,} faces need at least {FEWEST_LOOPS * count:,} loops, and {max(loops - used, 0):,} "
            "are free: add the loops first"
        )


@closed("what was added to a mesh")
def fill(host: BlenderHost, items: Any, count: int) -> None:
    """Give the last `count` edges, loops or faces values that refer to something: Blender leaves what the memory had.

    Edges and loops refer to the first vertex, loops to the first edge, and faces have three loops each. If this fails,
    it ends the run of `host`: the added items exist already.
    """
    if count < 1:
        return
    for name, size in _REFERRING.get(items.rna_type.identifier, ()):
        values = array("i", bytes(4 * size * len(items)))
        items.foreach_get(name, values)
        values[-size * count :] = array("i", bytes(4 * size * count))
        items.foreach_set(name, values)
    if items.rna_type.identifier == "MeshPolygons":
        _divide(items, count)


_REFERRING: Final = {
    "MeshEdges": (("vertices", 2),),
    "MeshLoops": (("vertex_index", 1), ("edge_index", 1)),
}


def _divide(faces: Any, count: int) -> None:
    before = len(faces) - count
    starts = array("i", bytes(4 * len(faces)))
    faces.foreach_get("loop_start", starts)
    first = starts[before - 1] + FEWEST_LOOPS if before else 0
    starts[before:] = array("i", range(first, first + FEWEST_LOOPS * count, FEWEST_LOOPS))
    faces.foreach_set("loop_start", starts)
