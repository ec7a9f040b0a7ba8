"""Studio setup: backdrop, three point lighting, camera with depth of field."""
import bpy
import math
from mathutils import Vector

scene = bpy.context.scene
product = bpy.data.objects["Cube"]
product.location.z = 1.0

bpy.ops.mesh.primitive_plane_add(size=20, location=(0, 0, 0))
floor = bpy.context.object
floor.name = "Backdrop"
bpy.ops.object.mode_set(mode='EDIT')
bpy.ops.mesh.select_all(action='SELECT')
bpy.ops.mesh.subdivide(number_cuts=4)
bpy.ops.object.mode_set(mode='OBJECT')
for v in floor.data.vertices:
    if v.co.y > 5:
        v.co.z = (v.co.y - 5) ** 2 * 0.3
sub = floor.modifiers.new("Smooth", 'SUBSURF')
sub.levels = 2
bpy.ops.object.shade_smooth()

def track(obj, target):
    c = obj.constraints.new(type='TRACK_TO')
    c.target = target
    c.track_axis = 'TRACK_NEGATIVE_Z'
    c.up_axis = 'UP_Y'

for name, loc, power, size, color in [
    ("Key", (4, -4, 5), 800, 2.0, (1, 0.95, 0.9)),
    ("Fill", (-5, -3, 3), 250, 3.0, (0.9, 0.95, 1)),
    ("Rim", (0, 5, 4), 500, 1.0, (1, 1, 1)),
]:
    data = bpy.data.lights.new(name=name, type='AREA')
    data.energy = power
    data.size = size
    data.color = color
    ob = bpy.data.objects.new(name, data)
    ob.location = loc
    scene.collection.objects.link(ob)
    track(ob, product)

cam_data = bpy.data.cameras.new("ProductCam")
cam = bpy.data.objects.new("ProductCam", cam_data)
cam.location = Vector((6, -6, 3.5))
scene.collection.objects.link(cam)
track(cam, product)
cam_data.lens = 85
cam_data.dof.use_dof = True
cam_data.dof.focus_object = product
cam_data.dof.aperture_fstop = 2.8
scene.camera = cam
scene.render.resolution_x = 1920
scene.render.resolution_y = 1080
scene.render.resolution_percentage = 50
scene.render.image_settings.file_format = 'PNG'
scene.render.image_settings.color_mode = 'RGBA'
# check: bpy.context.scene.camera.name == 'ProductCam' and len(bpy.data.objects['Rim'].constraints) == 1 and bpy.data.cameras['ProductCam'].dof.focus_object.name == 'Cube'
