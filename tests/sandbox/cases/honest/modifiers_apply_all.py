import bpy
obj = bpy.data.objects["Cube"]
bpy.context.view_layer.objects.active = obj
for o in bpy.context.selected_objects:
    o.select_set(False)
obj.select_set(True)
bev = obj.modifiers.new("Bevel", 'BEVEL')
bev.width = 0.1
bev.segments = 2
bev.limit_method = 'ANGLE'
mir = obj.modifiers.new("Mirror", 'MIRROR')
mir.use_axis = (True, False, False)
sol = obj.modifiers.new("Solid", 'SOLIDIFY')
sol.thickness = 0.02
for m in list(obj.modifiers):
    bpy.ops.object.modifier_apply(modifier=m.name)
# check: len(bpy.data.objects['Cube'].modifiers) == 0 and len(bpy.data.objects['Cube'].data.vertices) > 20
