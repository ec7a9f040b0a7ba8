# SPDX-License-Identifier: GPL-3.0-or-later
"""Has Blender make what a rehearsal let a script build, and counts it: only where the kernel's limits hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import bpy

__all__ = ("OBJECT", "measure")

OBJECT = "object {}"
"""The subject of an object's estimate."""


def measure(subjects: Iterable[str], tick: Callable[[], None]) -> dict[str, float]:
    """Evaluate every scene as its windows would, then the objects among `subjects`, hidden ones too.

    Returns how many vertices, points and instances each of these objects makes. Calls `tick` between two objects, which
    raises the exception that stops the measurement.
    """
    for scene in bpy.data.scenes:
        for layer in scene.view_layers:
            layer.update()
            tick()
    wanted = set(subjects)
    users = [user for user in bpy.data.objects if OBJECT.format(user.name_full) in wanted]
    if not users:
        return {}
    made = {}
    scene = bpy.data.scenes.new("Measure")
    try:
        for user in users:
            made[OBJECT.format(user.name_full)] = _count_alone(scene, user)
            tick()
    finally:
        bpy.data.scenes.remove(scene)
    return made


def _count_alone(scene: Any, user: Any) -> float:
    """Return how many vertices or points, and instances, an object makes in a scene of its own."""
    hidden, user.hide_viewport = user.hide_viewport, False
    scene.collection.objects.link(user)
    try:
        layer = scene.view_layers[0]
        layer.update()
        depsgraph = layer.depsgraph
        data = user.evaluated_get(depsgraph).data
        elements = getattr(data, "vertices", None) or getattr(data, "points", None) or ()
        return float(len(elements) + len(depsgraph.object_instances) - 1)
    finally:
        scene.collection.objects.unlink(user)
        user.hide_viewport = hidden
