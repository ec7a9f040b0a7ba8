import bpy, bmesh
from mathutils import Vector, noise

SIZE = 20.0
RES = 48
HEIGHT = 2.5

mesh = bpy.data.meshes.new("Terrain")
bm = bmesh.new()
grid = []
for y in range(RES + 1):
    row = []
    for x in range(RES + 1):
        px = (x / RES - 0.5) * SIZE
        py = (y / RES - 0.5) * SIZE
        h = noise.fractal(Vector((px * 0.15, py * 0.15, 0.0)), 1.0, 2.0, 5) * HEIGHT
        row.append(bm.verts.new((px, py, h)))
    grid.append(row)
for y in range(RES):
    for x in range(RES):
        bm.faces.new((grid[y][x], grid[y][x + 1], grid[y + 1][x + 1], grid[y + 1][x]))
bm.normal_update()
bm.to_mesh(mesh)
bm.free()
obj = bpy.data.objects.new("Terrain", mesh)
bpy.context.collection.objects.link(obj)
for p in mesh.polygons:
    p.use_smooth = True
result = {"verts": len(mesh.vertices), "faces": len(mesh.polygons)}
# check: len(bpy.data.objects['Terrain'].data.polygons) == 48 * 48 and g['result']['verts'] == 49 * 49
