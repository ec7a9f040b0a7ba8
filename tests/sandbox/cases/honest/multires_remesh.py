import bpy
obj = bpy.data.objects["Cube"]
bpy.context.view_layer.objects.active = obj
rem = obj.modifiers.new("Remesh", 'REMESH')
rem.mode = 'VOXEL'
rem.voxel_size = 0.2
bpy.ops.object.modifier_apply(modifier="Remesh")
n1 = len(obj.data.vertices)
obj.data.remesh_voxel_size = 0.15
bpy.ops.object.voxel_remesh()
dec = obj.modifiers.new("Dec", 'DECIMATE')
dec.ratio = 0.5
bpy.ops.object.modifier_apply(modifier="Dec")
n2 = len(obj.data.vertices)
# check: g['n1'] > 300 and g['n2'] > 50
