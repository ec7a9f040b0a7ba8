import bpy
ob = bpy.data.objects["Cube"]
kinds = ["SUBSURF", "SMOOTH", "LAPLACIANSMOOTH", "DISPLACE", "DECIMATE", "TRIANGULATE", "WELD", "SIMPLE_DEFORM", "CAST", "WAVE", "SOLIDIFY", "MIRROR", "CORRECTIVE_SMOOTH", "WEIGHTED_NORMAL", "REMESH"]
for k in kinds:
    m = ob.modifiers.new(k.title(), k)
ob.modifiers["Smooth"].iterations = 20
ob.modifiers["Simple_Deform"].deform_method = "TWIST"; ob.modifiers["Simple_Deform"].angle = 0.5
ob.modifiers["Decimate"].ratio = 0.5
tex = bpy.data.textures.new("Clouds", "CLOUDS"); tex.noise_scale = 0.5; ob.modifiers["Displace"].texture = tex; ob.modifiers["Displace"].strength = 0.1
ob.modifiers["Remesh"].mode = "VOXEL"; ob.modifiers["Remesh"].voxel_size = 0.1
bpy.context.view_layer.objects.active = ob
info = {m.name: {p.identifier for p in m.bl_rna.properties if not p.is_readonly} for m in ob.modifiers}
for m in list(ob.modifiers):
    bpy.ops.object.modifier_apply(modifier=m.name)
result = len(ob.data.vertices), {k: len(v) for k, v in info.items()}
# check: g['result'][0] > 10 and not bpy.data.objects['Cube'].modifiers
