# SPDX-License-Identifier: GPL-3.0-or-later
"""Does now what Blender puts off to the next evaluation, so that a sweep finds what is freed then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import bpy

from .checks import Arguments

__all__ = ("SETTLING",)


def _rebuild_poses(arguments: Arguments) -> None:
    """Rebuild the poses of the objects that got another armature: their bones stay until the next evaluation."""
    new = arguments.get("new_id")
    if isinstance(new, bpy.types.Armature):
        for each in bpy.data.objects:
            if each.data == new:
                each.data = new


SETTLING: Final[dict[str, Callable[[Arguments], None]]] = {"ID.user_remap": _rebuild_poses}
"""By `Struct.function`, what to do after a call with these arguments."""
