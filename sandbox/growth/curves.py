# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds F-curves whose values are no finite numbers, before Blender writes these to properties.

Blender limits what animation writes by comparison, which NaN passes, and crashes where a limited number is not one. A
script writes keyframes in many ways, also through vectors that it holds; so the sandbox looks at the keyframes
themselves, once the script has had any, before Blender evaluates them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from typing import Any, Final

import bpy

from ...scene.keyframes import curves_of_action
from ..guard.seam import BlenderHost

__all__ = ("check_curves",)

_PLACES: Final = ("co", "handle_left", "handle_right")
_MOST: Final = 1e30
"""The difference of larger numbers may be infinite, and what Blender computes between them NaN."""


def check_curves(host: BlenderHost, frame: float) -> None:
    """Refuse F-curves with a keyframe or handle that is NaN or above 1e30, or with such a value at `frame` or now."""
    scene: Any = bpy.context.scene
    frames = (frame, scene.frame_current_final)
    wrong = [curve for curve in _curves() if not _is_finite(curve, frames)]
    if not wrong:
        return
    for curve in wrong:
        curve.mute = True  # nothing evaluates it before the roll-back, which restores this
    host.refuse(
        f"the F-curve of {wrong[0].data_path!r} in action {wrong[0].id_data.name!r} has a value that is not a finite "
        "number below 1e30 (NaN or infinite), with which Blender may crash: set its keyframes, handles and modifiers "
        "to finite numbers"
    )


def _curves() -> Iterator[Any]:
    for action in bpy.data.actions:
        yield from curves_of_action(action)


def _is_finite(curve: Any, frames: tuple[float, ...]) -> bool:
    points = curve.keyframe_points
    for place in _PLACES if len(points) else ():
        values = array("f", bytes(8 * len(points)))
        points.foreach_get(place, values)
        if not (math.isfinite(sum(values)) and -_MOST < min(values) <= max(values) < _MOST):
            return False
    return not len(curve.modifiers) or all(abs(curve.evaluate(each)) < _MOST for each in frames)
