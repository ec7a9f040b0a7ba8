import bpy
ob = bpy.data.objects["Cube"]
bpy.context.view_layer.objects.active = ob
ps = ob.modifiers.new("Hair", "PARTICLE_SYSTEM").particle_system
st = ps.settings; st.type = "HAIR"; st.count = 500; st.hair_length = 0.4; st.child_type = "INTERPOLATED"; st.rendered_child_count = 20; st.hair_step = 4
bpy.ops.mesh.primitive_grid_add(x_subdivisions=20, y_subdivisions=20, size=3, location=(0, 0, 3)); cl = bpy.context.object
m = cl.modifiers.new("Cloth", "CLOTH"); m.settings.quality = 6; m.settings.mass = 0.2; m.collision_settings.use_self_collision = True
vg = cl.vertex_groups.new(name="pin"); vg.add([v.index for v in cl.data.vertices if v.co.y > 1.4], 1.0, "ADD"); m.settings.vertex_group_mass = "pin"
ob.modifiers.new("Collision", "COLLISION")
bpy.ops.object.select_all(action="DESELECT")
for f in range(1, 6): bpy.context.scene.frame_set(f)
bpy.context.scene.frame_set(1)
bpy.ops.object.effector_add(type="WIND", location=(0, -3, 1)); w = bpy.context.object; w.field.strength = 50; w.field.flow = 0.5
result = len(ps.particles), cl.modifiers["Cloth"].point_cache.frame_end
# check: len(g["ob"].particle_systems) == 1
