# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds ends of zones (Repeat, Simulation, …) without their beginning: Blender 5.2 crashes when it evaluates one."""

from __future__ import annotations

from typing import Any, Final

import bpy

from ..guard.seam import BlenderHost

__all__ = ("ZONES", "check_zones", "unpaired")

#: What the two nodes of each type of zone are called, without `Input` and `Output`. Closures of Blender 4.5
#: (`GeometryNodeClosureInput`) are left out: they are experimental, and reading their pair crashes.
ZONES: Final = frozenset(
    "GeometryNodeForeachGeometryElement GeometryNodeRepeat GeometryNodeSimulation NodeClosure".split()
)
_BEGINS: Final = frozenset(f"{zone}Input" for zone in ZONES)
_ENDS: Final = frozenset(f"{zone}Output" for zone in ZONES)


def check_zones(host: BlenderHost) -> None:
    """Refuse an end of a zone that something uses and that has no beginning, in whatever node group."""
    for end in unpaired():
        host.refuse(
            f"the node {end.name!r} ({end.bl_idname}) of {end.id_data.name!r} ends a zone that nothing begins, with "
            f"which Blender may crash: add a {end.bl_idname.removesuffix('Output')}Input and call its "
            "pair_with_output(…), or remove the node"
        )


def unpaired() -> list[Any]:
    """Return the ends of zones that have no beginning, and from which a link starts."""
    found: list[Any] = []
    for tree in bpy.data.node_groups:
        if tree.bl_idname == "GeometryNodeTree":
            kinds = [node.bl_idname for node in tree.nodes]
            if not _ENDS.isdisjoint(kinds):
                found += _unpaired(tree.nodes)
    return found


def _unpaired(nodes: Any) -> list[Any]:
    others = [node.paired_output for node in nodes if node.bl_idname in _BEGINS]
    paired = {other.name for other in others if other is not None}
    ends = [node for node in nodes if node.bl_idname in _ENDS and node.name not in paired]
    return [end for end in ends if any(socket.is_linked for socket in end.outputs)]
