import bpy
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector
us = bpy.context.scene.unit_settings
us.system = 'METRIC'
us.length_unit = 'CENTIMETERS'
us.scale_length = 0.01
cam = bpy.context.scene.camera
co = world_to_camera_view(bpy.context.scene, cam, Vector((0, 0, 0)))
d = (cam.location - bpy.data.objects["Cube"].location).length
txt = bpy.utils.units.to_string('METRIC', 'LENGTH', 1.5, precision=2)
# check: 0 < g['co'].x < 1 and g['d'] > 5
