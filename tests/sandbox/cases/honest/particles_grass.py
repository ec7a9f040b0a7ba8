import bpy
bpy.ops.mesh.primitive_plane_add(size=4)
ground = bpy.context.object
ground.name = "Ground"
mod = ground.modifiers.new("Grass", 'PARTICLE_SYSTEM')
ps = ground.particle_systems[0]
st = ps.settings
st.type = 'HAIR'
st.count = 2000
st.hair_length = 0.3
st.use_advanced_hair = True
st.brownian_factor = 0.05
st.child_type = 'INTERPOLATED'
st.child_percent = 10
ps.seed = 7
# check: bpy.data.objects['Ground'].particle_systems[0].settings.count == 2000
