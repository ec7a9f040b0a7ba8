# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: ignore-errors
"""Sets frames and keys as set_frame and set_keyframes were asked: runs as a script, with `PLAN` before it."""

import bpy


def set_frame(plan):
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
    data = block.animation_data
    action = data.action if data else None
    if action is None:
        return []
    if not hasattr(action, "layers"):
        return list(action.fcurves)
    return [
        c
        for layer in action.layers
        for strip in layer.strips
        for c in strip.channelbag(data.action_slot).fcurves
    ]


def put(block, path, value):
    """Set the value that a key is made from, and give back what the path belongs to."""
    if path.endswith('"]'):
        head, _, name = path[:-2].rpartition('["')
        owner = block.path_resolve(head) if head else block
        owner[name] = value
        return
    head, _, name = path.rpartition(".")
    owner = block.path_resolve(head) if head else block
    if not hasattr(owner, name):
        raise ValueError(f"{block.name!r} has no property {path!r}")
    setattr(owner, name, value)


def set_keyframes(plan):
    block = getattr(bpy.data, plan["collection"])[plan["name"]]
    path = plan["data_path"]
    frames = [frame for frame, _ in plan["keys"]]
    for frame, value in plan["keys"]:
        put(block, path, value)
        if not block.keyframe_insert(data_path=path, frame=frame):
            raise ValueError(f"{path!r} of {block.name!r} cannot be animated")
    tail = path.rpartition(".")[2]
    curves = [c for c in curves_of(block) if c.data_path == path or c.data_path.endswith(tail)]
    for curve in curves:
        for point in curve.keyframe_points:
            if any(abs(point.co.x - frame) < 0.001 for frame in frames):
                point.interpolation = plan["interpolation"]
        curve.update()
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    return {"keys": len(frames), "curves": len(curves)}
