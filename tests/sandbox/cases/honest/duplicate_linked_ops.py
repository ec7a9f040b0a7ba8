import bpy
bpy.ops.object.select_all(action='DESELECT')
cube = bpy.data.objects['Cube']
cube.select_set(True)
bpy.context.view_layer.objects.active = cube
for i in range(1, 5):
    bpy.ops.object.duplicate(linked=True)
    bpy.context.active_object.location.x = i * 2.5
bpy.ops.object.select_all(action='SELECT')
sel = [o.name for o in bpy.context.selected_objects]
bpy.ops.transform.translate(value=(0, 0, 1))
bpy.ops.transform.rotate(value=0.5, orient_axis='Z')
bpy.ops.transform.resize(value=(1, 1, 2))
# check: bpy.data.meshes['Cube'].users == 5
