import bpy, math
scene = bpy.context.scene
scene.frame_start, scene.frame_end = 1, 120
scene.render.fps = 30
scene.render.resolution_x, scene.render.resolution_y = 1080, 1080
cam = bpy.data.cameras.new("TT"); cam.lens = 85
cam.dof.use_dof = True; cam.dof.aperture_fstop = 2.8
cam_ob = bpy.data.objects.new("TT", cam); scene.collection.objects.link(cam_ob)
pivot = bpy.data.objects.new("Pivot", None); pivot.empty_display_type = "ARROWS"; scene.collection.objects.link(pivot)
cam_ob.parent = pivot; cam_ob.location = (0, -8, 3)
t = cam_ob.constraints.new("TRACK_TO"); t.target = bpy.data.objects["Cube"]; t.track_axis = "TRACK_NEGATIVE_Z"; t.up_axis = "UP_Y"
cam.dof.focus_object = bpy.data.objects["Cube"]
pivot.rotation_euler.z = 0
pivot.keyframe_insert(data_path="rotation_euler", index=2, frame=1)
pivot.rotation_euler.z = math.tau
pivot.keyframe_insert(data_path="rotation_euler", index=2, frame=121)
act = pivot.animation_data.action
try:
    curves = act.fcurves
except AttributeError:
    curves = act.layers[0].strips[0].channelbags[0].fcurves
for fc in curves:
    for kp in fc.keyframe_points:
        kp.interpolation = "LINEAR"
    fc.modifiers.new("CYCLES")
scene.camera = cam_ob
marker = scene.timeline_markers.new("start", frame=1); marker.camera = cam_ob
scene.frame_set(60)
result = round(pivot.matrix_world.to_euler().z, 2)
# check: bpy.context.scene.camera.name == 'TT'
