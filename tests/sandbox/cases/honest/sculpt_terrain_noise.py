import bpy, bmesh
from mathutils import noise, Vector
bpy.ops.mesh.primitive_grid_add(x_subdivisions=80, y_subdivisions=80, size=20)
ob = bpy.context.active_object
noise.seed_set(4)
bm = bmesh.new(); bm.from_mesh(ob.data)
col = bm.loops.layers.color.new("Height") if hasattr(bm.loops.layers, "color") else None
for v in bm.verts:
    p = v.co * 0.15
    v.co.z += noise.fractal(p, 1.0, 2.0, 6) * 1.5 + noise.turbulence(p * 2, 3, False) * 0.2
lo = min(v.co.z for v in bm.verts); hi = max(v.co.z for v in bm.verts)
for f in bm.faces:
    for l in f.loops:
        t = (l.vert.co.z - lo) / (hi - lo)
        l[col] = (t, 1 - t, 0.2, 1.0)
bmesh.ops.smooth_vert(bm, verts=bm.verts, factor=0.5, use_axis_x=True, use_axis_y=True, use_axis_z=True)
bm.to_mesh(ob.data); bm.free(); ob.data.update()
steep = [p.index for p in ob.data.polygons if p.normal.z < 0.8]
vg = ob.vertex_groups.new(name="steep"); vg.add(sorted({i for s in steep for i in ob.data.polygons[s].vertices}), 1.0, "REPLACE")
hit, loc, nor, idx = ob.ray_cast(Vector((0, 0, 50)), Vector((0, 0, -1)))
result = hit, round(loc.z, 3)
# check: g['hit']
