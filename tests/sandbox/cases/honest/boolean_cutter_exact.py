import bpy
base = bpy.data.objects["Cube"]
cutters = []
for axis in range(3):
    rot = [0, 0, 0]
    rot[(axis + 1) % 3] = 1.5707963
    bpy.ops.mesh.primitive_cylinder_add(radius=0.5, depth=3, rotation=rot)
    c = bpy.context.object
    c.name = f"Cutter{axis}"
    c.display_type = 'WIRE'
    c.hide_render = True
    m = base.modifiers.new(f"Cut{axis}", 'BOOLEAN')
    m.operation = 'DIFFERENCE'
    m.object = c
    cutters.append(c)
bpy.context.view_layer.update()
dg = bpy.context.evaluated_depsgraph_get()
me = bpy.data.meshes.new_from_object(base.evaluated_get(dg))
base.modifiers.clear()
base.data = me
for c in cutters:
    bpy.data.objects.remove(c, do_unlink=True)
# check: len(bpy.data.objects['Cube'].data.vertices) > 60 and 'Cutter0' not in bpy.data.objects
