import bpy
obj = bpy.data.objects["Cube"]
basis = obj.shape_key_add(name="Basis", from_mix=False)
smile = obj.shape_key_add(name="Smile")
for i, pt in enumerate(smile.data):
    if pt.co.z > 0:
        pt.co.z += 0.5
        pt.co.x *= 1.2
smile.value = 0.0
smile.slider_min, smile.slider_max = 0.0, 1.0
smile.keyframe_insert("value", frame=1)
smile.value = 1.0
smile.keyframe_insert("value", frame=20)
names = [k.name for k in obj.data.shape_keys.key_blocks]
# check: g['names'] == ['Basis', 'Smile'] and bpy.data.objects['Cube'].data.shape_keys.animation_data.action is not None
