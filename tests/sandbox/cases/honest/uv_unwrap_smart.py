import bpy
obj = bpy.data.objects["Cube"]
bpy.context.view_layer.objects.active = obj
bpy.ops.object.mode_set(mode='EDIT')
bpy.ops.mesh.select_all(action='SELECT')
bpy.ops.uv.smart_project(angle_limit=1.15, island_margin=0.02)
bpy.ops.object.mode_set(mode='OBJECT')
uv = obj.data.uv_layers.active.data
us = [l.uv.x for l in uv]
obj.data.uv_layers.new(name="Lightmap", do_init=True)
# check: len(bpy.data.objects['Cube'].data.uv_layers) == 2 and 0 <= min(g['us']) and max(g['us']) <= 1
