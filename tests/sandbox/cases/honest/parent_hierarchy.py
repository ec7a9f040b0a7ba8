import bpy
from mathutils import Matrix, Euler
root = bpy.data.objects.new("Robot", None)
bpy.context.collection.objects.link(root)
prev = root
for i in range(5):
    bpy.ops.mesh.primitive_cube_add(size=0.4)
    seg = bpy.context.object
    seg.name = "Segment%d" % i
    seg.parent = prev
    seg.matrix_local = Matrix.Translation((0, 0, 0.5)) @ Euler((0.1, 0, 0)).to_matrix().to_4x4()
    prev = seg
bpy.context.view_layer.update()
tip = prev.matrix_world.translation
depth = 0
p = prev
while p.parent is not None:
    p = p.parent
    depth += 1
kids = [c.name for c in root.children_recursive]
# check: g['depth'] == 5 and len(g['kids']) == 5 and g['tip'].z > 2
