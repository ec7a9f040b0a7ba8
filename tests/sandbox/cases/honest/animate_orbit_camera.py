import bpy
from math import cos, sin, pi

scene = bpy.context.scene
scene.frame_start = 1
scene.frame_end = 120
scene.render.fps = 24
cam = scene.camera
target = bpy.data.objects.new("Target", None)
scene.collection.objects.link(target)
con = cam.constraints.new('TRACK_TO')
con.target = target
for f in range(1, 122, 10):
    a = (f - 1) / 120 * 2 * pi
    cam.location = (cos(a) * 8, sin(a) * 8, 4)
    cam.keyframe_insert(data_path="location", frame=f)
scene.frame_set(60)
pos = cam.location.copy()
scene.timeline_markers.new("Half", frame=60)
for m in scene.timeline_markers:
    print(m.name, m.frame)
# check: bpy.context.scene.timeline_markers['Half'].frame == 60 and bpy.data.objects['Camera'].animation_data.action is not None and abs(g['pos'].length - (64 + 16) ** 0.5) < 1.0
