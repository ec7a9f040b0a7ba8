import bpy
bpy.ops.mesh.primitive_plane_add(size=4); p = bpy.context.object
bpy.ops.object.mode_set(mode="EDIT"); bpy.ops.mesh.subdivide(number_cuts=4); bpy.ops.object.mode_set(mode="OBJECT")
bpy.ops.mesh.primitive_cone_add(radius1=0.2, depth=0.5); c = bpy.context.object
c.parent = p; p.instance_type = "VERTS"; p.use_instance_vertices_rotation = True
bpy.context.view_layer.update()
dg = bpy.context.evaluated_depsgraph_get()
n = sum(1 for i in dg.object_instances if i.is_instance)
bpy.ops.object.select_all(action="DESELECT"); p.select_set(True); bpy.context.view_layer.objects.active = p
bpy.ops.object.duplicates_make_real()
result = n
# check: g['n'] == 36 and len(bpy.data.objects) > 36
