# SPDX-License-Identifier: GPL-3.0-or-later
"""What is animated, as data: curves with their keys, drivers and NLA tracks, with and without slots and layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import bpy

from .describe import find

__all__ = ("KINDS", "Kind", "animation", "blocks_of", "curves_of")

Kind = Literal["object", "material", "world", "light", "camera", "scene", "node_group"]
KINDS: dict[Kind, str] = {
    "object": "objects",
    "material": "materials",
    "world": "worlds",
    "light": "lights",
    "camera": "cameras",
    "scene": "scenes",
    "node_group": "node_groups",
}


def curves_of(data: Any) -> Iterator[Any]:
    """The F-curves of an `animation_data`'s action: of its slot, where Blender has slots (4.4 and later)."""
    action = data.action
    if action is None:
        return
    if not hasattr(action, "layers"):
        yield from action.fcurves
        return
    slot = data.action_slot
    for layer in action.layers if slot is not None else ():
        for strip in layer.strips:
            bag = strip.channelbag(slot) if strip.type == "KEYFRAME" else None
            if bag is not None:
                yield from bag.fcurves


def animation(kind: Kind, name: str, *, limit: int) -> dict[str, Any]:
    """The animation of a data-block and of the data, shape keys and nodes below it; at most `limit` keys in all.

    Raises InvalidParamsError for a name that is not there.
    """
    owner = find(getattr(bpy.data, KINDS[kind]), name, kind.replace("_", " "))
    scene = bpy.context.scene
    told: dict[str, Any] = {
        "frame": scene.frame_current,
        "start": scene.frame_start,
        "end": scene.frame_end,
        "rate": round(scene.render.fps / scene.render.fps_base, 5),
        "animated": [],
    }
    left = limit
    for block in blocks_of(owner):
        data = block.animation_data
        if data is None:
            continue
        part, left = _animated(block, data, left)
        told["animated"].append(part)
    if left < 0:
        told["keys_left_out"] = -left
    return told


def blocks_of(owner: Any) -> Iterator[Any]:
    """A data-block, and what below it has an animation of its own: data, shape keys, nodes."""
    yield owner
    data = getattr(owner, "data", None)
    for part in (data, getattr(data, "shape_keys", None), getattr(owner, "node_tree", None)):
        if isinstance(part, bpy.types.ID):
            yield part


def _animated(block: Any, data: Any, left: int) -> tuple[dict[str, Any], int]:
    part: dict[str, Any] = {"of": f"{block.bl_rna.identifier} {block.name}"}
    if data.action is not None:
        part["action"] = data.action.name
        slot = getattr(data, "action_slot", None)
        if slot is not None:
            part["slot"] = slot.name_display
        curves = []
        for curve in curves_of(data):
            points = list(curve.keyframe_points)
            shown = points[: max(left, 0)]
            left -= len(points)
            curves.append(
                {
                    "data_path": curve.data_path,
                    "index": curve.array_index,
                    "keys": [[round(p.co.x, 3), round(p.co.y, 5), p.interpolation] for p in shown],
                    **({"modifiers": [m.type for m in curve.modifiers]} if len(curve.modifiers) else {}),
                    **({"extrapolation": curve.extrapolation} if curve.extrapolation != "CONSTANT" else {}),
                }
            )
        part["curves"] = curves
    if len(data.drivers):
        part["drivers"] = [
            {
                "data_path": d.data_path,
                "index": d.array_index,
                "type": d.driver.type,
                "expression": d.driver.expression,
            }
            for d in data.drivers
        ]
    if len(data.nla_tracks):
        part["nla_tracks"] = [
            {
                "name": track.name,
                "muted": track.mute,
                "strips": [[s.name, round(s.frame_start, 3), round(s.frame_end, 3)] for s in track.strips],
            }
            for track in data.nla_tracks
        ]
    return part, left
