# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares this Blender for forks that run scripts: loads and makes all that the first script needs."""

from __future__ import annotations

import bpy
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.sandbox.run import execute, watchdog

__all__ = ("warm",)

#: The modules that the prepared scripts import; most tests' scripts import no more than bpy.
_SCRIPTS = (
    "import bpy\nbpy.data.objects['Cube'].location.x = 1",
    "import bpy, bmesh",
    """
import bpy, bmesh, mathutils, math, random, json, re, copy, functools, numpy as np
bpy.ops.mesh.primitive_cube_add()
bpy.ops.object.delete()
result = np.zeros(3).tolist()
""",
)


def warm() -> None:
    """Run scripts and open Blender's own start-up file; end the watching thread, since a fork takes none with it."""
    settings.set_preferences({"time_limit_s": 10.0})
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    execute._rate.clear()
    for script in _SCRIPTS:
        execute.execute_blender_code({"code": script})
    execute._rate.clear()
    watchdog.rest()
    settings.set_preferences({})
    bpy.ops.wm.read_homefile(use_factory_startup=True)
