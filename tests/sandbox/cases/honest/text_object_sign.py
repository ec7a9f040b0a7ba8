import bpy
bpy.ops.object.text_add(location=(0, 0, 2), rotation=(1.5708, 0, 0))
txt = bpy.context.object
txt.data.body = "OPEN"
txt.data.extrude = 0.1
txt.data.bevel_depth = 0.01
txt.data.align_x = 'CENTER'
txt.data.align_y = 'CENTER'
txt.data.size = 1.2
txt.name = "Sign"
bpy.ops.object.convert(target='MESH')
# check: bpy.data.objects['Sign'].type == 'MESH' and len(bpy.data.objects['Sign'].data.vertices) > 50
