import bpy
bpy.ops.object.select_all(action='DESELECT')
for x in range(3):
    bpy.ops.mesh.primitive_cube_add(location=(x * 3, 6, 0))
objs = [o for o in bpy.context.scene.objects if o.type == 'MESH' and o.name != "Cube"]
for o in objs:
    o.select_set(True)
bpy.context.view_layer.objects.active = objs[0]
bpy.ops.object.join()
joined = bpy.context.object
joined.name = "Joined"
bpy.ops.object.mode_set(mode='EDIT')
bpy.ops.mesh.select_all(action='SELECT')
bpy.ops.mesh.separate(type='LOOSE')
bpy.ops.object.mode_set(mode='OBJECT')
parts = [o.name for o in bpy.data.objects if o.name.startswith("Joined")]
bpy.ops.object.origin_set(type='ORIGIN_GEOMETRY', center='BOUNDS')
# check: len(g['parts']) == 3
