# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: ignore-errors
"""Sets frames and keys for set_frame and set_keyframes: this text runs as a script, with `PLAN` before it."""

import bpy


def set_frame(plan):
    """Set the frame, the range and the rate, if the plan has them."""
    scene = bpy.context.scene
    if plan["rate"] is not None:
        scene.render.fps = max(1, round(plan["rate"]))
        scene.render.fps_base = scene.render.fps / plan["rate"]
    if plan["start"] is not None:
        scene.frame_start = plan["start"]
    if plan["end"] is not None:
        scene.frame_end = plan["end"]
    if plan["frame"] is not None:
        scene.frame_set(plan["frame"])
    return {"frame": scene.frame_current, "start": scene.frame_start, "end": scene.frame_end}


def curves_of(block):
    """Return the curves that animate a data-block, with and without layers."""
    data = block.animation_data
    action = data.action if data else None
    if action is None:
        return []
    if not hasattr(action, "layers"):
        return list(action.fcurves)
    bags = [strip.channelbag(data.action_slot) for layer in action.layers for strip in layer.strips]
    return [curve for bag in bags if bag is not None for curve in bag.fcurves]


def put(block, path, index, value):
    """Set the value that a new key stores."""
    if path.endswith('"]'):
        head, _, name = path[:-2].rpartition('["')
        owner = block.path_resolve(head) if head else block
        if index < 0:
            owner[name] = value
        else:
            owner[name][index] = value
        return
    head, _, name = path.rpartition(".")
    owner = block.path_resolve(head) if head else block
    if index < 0:
        setattr(owner, name, value)
    else:
        getattr(owner, name)[index] = value


def set_keyframes(plan):
    """Set a key for each value. Return how many there are, and on how many curves."""
    named = getattr(bpy.data, plan["collection"])[plan["name"]]
    block = named.path_resolve(plan["block"]) if plan["block"] else named
    path, index = plan["path"], plan["index"]
    frames = [frame for frame, _ in plan["keys"]]
    for frame, value in plan["keys"]:
        try:
            put(block, path, index, value)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(f"{path!r} of {block.name!r} cannot be {value!r}: {error}") from None
        if not block.keyframe_insert(data_path=path, index=index, frame=frame):
            raise ValueError(f"{path!r} of {block.name!r} cannot be animated")
    curves = [c for c in curves_of(block) if c.data_path == path and index in (-1, c.array_index)]
    for curve in curves:
        for point in curve.keyframe_points:
            if any(abs(point.co.x - frame) < 0.001 for frame in frames):
                point.interpolation = plan["interpolation"]
        curve.update()
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    return {"keys": len(frames), "curves": len(curves)}
