import bpy, numpy as np
rng = np.random.default_rng(1)
for k in range(5):
    r = rng.uniform(0.2, 0.6)
    ang = np.float64(k) * 2 * np.pi / 5
    bpy.ops.mesh.primitive_uv_sphere_add(segments=np.int64(16), ring_count=8, radius=r, location=(np.cos(ang) * 3, np.sin(ang) * 3, r))
    o = bpy.context.object
    o["radius"] = float(r)
    m = o.modifiers.new("Array", "ARRAY"); m.count = np.int64(3); m.relative_offset_displace = (0, 0, 1.1)
    s = o.modifiers.new("Sub", "SUBSURF"); s.levels = np.int32(1)
bpy.context.view_layer.update()
result = len(bpy.data.objects)
# check: g['result'] == 8
