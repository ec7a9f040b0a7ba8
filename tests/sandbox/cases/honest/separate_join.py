import bpy, bmesh
me = bpy.data.meshes.new("Many"); bm = bmesh.new()
for i in range(30):
    r = bmesh.ops.create_icosphere(bm, subdivisions=2, radius=0.3)
    bmesh.ops.translate(bm, verts=r["verts"], vec=(i, 0, 0))
bm.to_mesh(me); bm.free()
ob = bpy.data.objects.new("Many", me); bpy.context.collection.objects.link(ob)
bpy.ops.object.select_all(action="DESELECT"); ob.select_set(True); bpy.context.view_layer.objects.active = ob
bpy.ops.object.mode_set(mode="EDIT"); bpy.ops.mesh.select_all(action="SELECT"); bpy.ops.mesh.separate(type="LOOSE"); bpy.ops.object.mode_set(mode="OBJECT")
parts = [o for o in bpy.context.selected_objects if o.name.startswith("Many")]
for o in parts:
    bpy.context.view_layer.objects.active = o
    bpy.ops.object.origin_set(type="ORIGIN_GEOMETRY", center="BOUNDS")
bpy.ops.object.join()
result = len(parts)
# check: g['result'] == 30
