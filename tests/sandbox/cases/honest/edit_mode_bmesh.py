import bpy, bmesh
obj = bpy.context.active_object
bpy.ops.object.mode_set(mode='EDIT')
bm = bmesh.from_edit_mesh(obj.data)
bm.faces.ensure_lookup_table()
for f in bm.faces:
    f.select_set(f.normal.z > 0.9)
top = [f for f in bm.faces if f.select]
bmesh.ops.inset_individual(bm, faces=top, thickness=0.2, depth=0.1)
bmesh.update_edit_mesh(obj.data)
bpy.ops.mesh.extrude_region_move(TRANSFORM_OT_translate={"value": (0, 0, 0.6)})
bpy.ops.mesh.select_all(action='DESELECT')
bpy.ops.object.mode_set(mode='OBJECT')
zmax = max(v.co.z for v in obj.data.vertices)
# check: len(bpy.data.objects["Cube"].data.polygons) > 6 and bpy.context.mode == "OBJECT"
