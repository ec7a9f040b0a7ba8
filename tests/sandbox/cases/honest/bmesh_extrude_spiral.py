import bpy, bmesh, math
from mathutils import Matrix, Vector
bm = bmesh.new()
res = bmesh.ops.create_circle(bm, cap_ends=True, radius=0.5, segments=12)
face = bm.faces[:][0] if bm.faces else None
bm.faces.ensure_lookup_table()
top = bm.faces[0]
for step in range(10):
    ret = bmesh.ops.extrude_discrete_faces(bm, faces=[top])
    top = ret["faces"][0]
    bmesh.ops.translate(bm, vec=Vector((0, 0, 0.3)), verts=top.verts)
    bmesh.ops.rotate(bm, cent=top.calc_center_median(), matrix=Matrix.Rotation(math.radians(12), 3, 'Z'), verts=top.verts)
    bmesh.ops.scale(bm, vec=(0.93, 0.93, 1), space=Matrix.Translation(-top.calc_center_median()), verts=top.verts)
me = bpy.data.meshes.new("Spiral")
bm.to_mesh(me)
bm.free()
ob = bpy.data.objects.new("Spiral", me)
bpy.context.collection.objects.link(ob)
# check: len(bpy.data.objects['Spiral'].data.polygons) > 100
