import bpy
tex = bpy.data.textures.new("Clouds", 'CLOUDS')
tex.noise_scale = 0.5
bpy.ops.mesh.primitive_grid_add(x_subdivisions=64, y_subdivisions=64, size=4)
g_ = bpy.context.object
g_.name = "Hills"
d = g_.modifiers.new("Displace", 'DISPLACE')
d.texture = tex
d.strength = 0.8
d.mid_level = 0.5
bpy.ops.object.modifier_apply(modifier="Displace")
spread = max(v.co.z for v in g_.data.vertices) - min(v.co.z for v in g_.data.vertices)
# check: g['spread'] > 0.05
