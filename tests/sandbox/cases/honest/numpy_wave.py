import bpy
import numpy as np
me = bpy.data.meshes.new("Wave")
n = 40
xs, ys = np.meshgrid(np.linspace(-3, 3, n), np.linspace(-3, 3, n))
zs = np.sin(xs * 2) * np.cos(ys * 2) * 0.4
co = np.stack([xs.ravel(), ys.ravel(), zs.ravel()], axis=1)
faces = []
for j in range(n - 1):
    for i in range(n - 1):
        a = j * n + i
        faces.append((a, a + 1, a + n + 1, a + n))
me.from_pydata(co.tolist(), [], faces)
me.update()
ob = bpy.data.objects.new("Wave", me)
bpy.context.collection.objects.link(ob)
buf = np.empty(len(me.vertices) * 3, dtype=np.float32)
me.vertices.foreach_get("co", buf)
buf = buf.reshape(-1, 3)
buf[:, 2] *= 2
me.vertices.foreach_set("co", buf.ravel())
me.update()
result = {"max": float(buf[:, 2].max()), "mean": float(buf.mean())}
# check: len(bpy.data.objects['Wave'].data.vertices) == 1600 and g['result']['max'] > 0.5
