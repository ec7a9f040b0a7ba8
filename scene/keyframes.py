# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes animation: curves with their keys, drivers and NLA tracks, with and without slots and layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import bpy

from ..base.errors import InvalidParamsError
from ..base.similar_names import did_you_mean, quoted
from . import data_paths
from .describe.overview import find

__all__ = (
    "KINDS",
    "Kind",
    "animation",
    "blocks_of",
    "curves_of",
    "curves_of_action",
    "strips",
    "target",
    "tracks",
)

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
    """Yield the F-curves of an `animation_data`'s action; of its slot only, in Blender 4.4 and later."""
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


def curves_of_action(action: Any) -> Iterator[Any]:
    """Yield the F-curves of an action, of every slot that it has."""
    if not hasattr(action, "layers"):
        yield from action.fcurves
        return
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags if strip.type == "KEYFRAME" else ():
                yield from bag.fcurves


def tracks(owner: Any) -> Iterator[Any]:
    """Yield the NLA tracks of a data-block."""
    data = getattr(owner, "animation_data", None)
    yield from data.nla_tracks if data is not None else ()


def strips(owner: Any) -> Iterator[Any]:
    """Yield the NLA strips of a data-block, including those inside meta strips."""
    waiting = list(tracks(owner))
    while waiting:
        for strip in waiting.pop().strips:
            yield strip
            waiting.append(strip)  # a meta strip has strips


def animation(kind: Kind, name: str, *, limit: int) -> dict[str, Any]:
    """Describe the animation of a data-block and of its data, shape keys and nodes; at most `limit` keys in total.

    Raises InvalidParamsError for an unknown name.
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


#: Paths from a data-block to other data-blocks whose animation belongs with it.
_BELOW = ("data", "data.shape_keys", "data.node_tree", "node_tree", "compositing_node_group")


def blocks_of(owner: Any) -> Iterator[Any]:
    """Yield a data-block, and its data, shape keys and nodes, which have an animation of their own."""
    yield owner
    for path in _BELOW:
        part: Any = owner
        for name in path.split("."):
            part = getattr(part, name, None)
        if isinstance(part, bpy.types.ID):
            yield part


def target(kind: Kind, name: str, data_path: str) -> dict[str, Any]:
    """Find the data-block that gets the keys for a path: Blender sets keys on the data-block that has the property.

    `block` is the path from the named data-block to that one (empty if it is the same), `path` the rest of the path in
    the form of an F-curve, `index` the array index, or -1 for all. Raises InvalidParamsError.
    """
    owner: Any = find(getattr(bpy.data, KINDS[kind]), name, kind.replace("_", " "))
    try:
        steps = data_paths.split_data_path(data_path)
    except ValueError as error:
        raise InvalidParamsError(str(error)) from None
    index = steps.pop() if len(steps) > 1 and isinstance(steps[-1], int) else -1
    texts = [step if isinstance(step, str) else f"[{_key(step)}]" for step in steps]
    holder, begin = owner, 0
    for number in range(1, len(texts)):
        found = _resolved(holder, texts[begin:number], data_path)
        if isinstance(found, bpy.types.ID):
            holder, begin = found, number
    struct = _resolved(holder, texts[begin:-1], data_path) if len(texts) - begin > 1 else holder
    last = texts[-1]
    if isinstance(steps[-1], str) and last not in struct.bl_rna.properties:
        known = struct.bl_rna.properties.keys()
        raise InvalidParamsError(f"{quoted(data_path)} leads to no property.{did_you_mean(last, known)}")
    own = _joined(texts[begin:]) if struct == holder else struct.path_from_id(last)
    return {"block": _joined(texts[:begin]), "path": own, "index": index}


def _key(step: Any) -> str:
    """Return the text inside the brackets of a path: a number or a quoted name."""
    return str(step) if isinstance(step, int) else '"' + bpy.utils.escape_identifier(step[0]) + '"'


def _joined(texts: Sequence[str]) -> str:
    return "".join(text if text.startswith("[") or not n else f".{text}" for n, text in enumerate(texts))


def _resolved(holder: Any, texts: Sequence[str], whole: str) -> Any:
    try:
        return holder.path_resolve(_joined(texts))
    except ValueError:
        raise InvalidParamsError(
            f"{quoted(whole)} cannot be followed from {quoted(holder.name)}: there is no {quoted(_joined(texts))}"
        ) from None


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
