import bpy
obj = bpy.data.objects["Cube"]
for f, z in ((1, 0), (12, 4), (24, 0)):
    obj.location.z = z
    obj.keyframe_insert("location", index=2, frame=f)
act = obj.animation_data.action
act.name = "Bounce"
if hasattr(act, "fcurves"):
    curves = act.fcurves
else:
    curves = act.layers[0].strips[0].channelbags[0].fcurves
for fc in curves:
    fc.extrapolation = 'LINEAR'
    mod = fc.modifiers.new('CYCLES')
    mod.mode_after = 'REPEAT'
    for kp in fc.keyframe_points:
        kp.interpolation = 'SINE'
        kp.easing = 'EASE_IN_OUT'
    value = fc.evaluate(12)
# check: abs(g['value'] - 4) < 1e-4 and bpy.data.actions['Bounce'].users >= 1
