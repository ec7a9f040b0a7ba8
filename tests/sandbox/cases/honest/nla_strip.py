import bpy
obj = bpy.data.objects["Cube"]
obj.rotation_euler.z = 0
obj.keyframe_insert("rotation_euler", frame=1)
obj.rotation_euler.z = 3.14
obj.keyframe_insert("rotation_euler", frame=30)
ad = obj.animation_data
act = ad.action
track = ad.nla_tracks.new()
track.name = "Spin"
strip = track.strips.new("SpinStrip", 1, act)
strip.repeat = 3
strip.blend_type = 'REPLACE'
ad.action = None
# check: bpy.data.objects['Cube'].animation_data.nla_tracks['Spin'].strips[0].repeat == 3
