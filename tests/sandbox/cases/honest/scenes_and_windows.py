import bpy
s2 = bpy.data.scenes.new("Second")
s2.world = bpy.data.worlds[0]
s2.frame_end = 48
cam = bpy.data.objects.new("Cam2", bpy.data.cameras.new("Cam2"))
s2.collection.objects.link(cam)
s2.camera = cam
for s in bpy.data.scenes:
    s.render.fps = 25
# check: bpy.data.scenes['Second'].camera.name == 'Cam2' and bpy.context.scene.render.fps == 25
