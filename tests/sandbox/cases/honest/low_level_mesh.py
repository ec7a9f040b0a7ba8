import bpy
import numpy as np
n = 10
xs, ys = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
co = np.stack([xs.ravel(), ys.ravel(), np.sin(xs * 3).ravel() * 0.3], axis=1).astype(np.float32)
faces = []
for i in range(n - 1):
    for j in range(n - 1):
        a = i * n + j
        faces.append((a, a + 1, a + n + 1, a + n))
faces = np.array(faces, dtype=np.int32)
me = bpy.data.meshes.new("Grid")
me.vertices.add(len(co)); me.vertices.foreach_set("co", co.ravel())
me.loops.add(faces.size); me.loops.foreach_set("vertex_index", faces.ravel())
me.polygons.add(len(faces)); me.polygons.foreach_set("loop_start", np.arange(0, faces.size, 4, dtype=np.int32))
me.update(calc_edges=True); me.validate()
uv = me.uv_layers.new(name="UVMap")
buf = np.zeros(len(me.loops) * 2, dtype=np.float32)
idx = np.empty(len(me.loops), dtype=np.int32); me.loops.foreach_get("vertex_index", idx)
buf[0::2] = co[idx, 0] * 0.5 + 0.5; buf[1::2] = co[idx, 1] * 0.5 + 0.5
uv.data.foreach_set("uv", buf)
a = me.attributes.new("mask", "INT", "POINT"); a.data.foreach_set("value", np.arange(len(me.vertices), dtype=np.int32))
ob = bpy.data.objects.new("Grid", me); bpy.context.collection.objects.link(ob)
for p in me.polygons: p.use_smooth = True
result = (len(me.edges), len(me.polygons))
# check: g['result'][1] == 81 and g['me'].attributes['mask'].data[5].value == 5
