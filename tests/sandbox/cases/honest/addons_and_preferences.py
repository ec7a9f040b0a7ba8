"""Looks for an add-on that is not there, asks for it, and goes on without it."""

import addon_utils
import bpy

NAME = "an_addon_that_nobody_has"
default, enabled = addon_utils.check(NAME)
if not enabled and addon_utils.enable(NAME) is None:
    print("without", NAME)
has_cycles = addon_utils.check("cycles")[1]

bpy.ops.mesh.primitive_torus_add(location=(0, 0, 2))
bpy.context.object.name = "Ring"

# check: g['enabled'] is False and g['has_cycles'] is True and bpy.data.objects['Ring'].location.z == 2
