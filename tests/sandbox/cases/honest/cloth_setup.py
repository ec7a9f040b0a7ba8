import bpy
bpy.ops.mesh.primitive_grid_add(x_subdivisions=30, y_subdivisions=30, size=3, location=(0, 0, 3))
cloth = bpy.context.object
cloth.name = "Sheet"
m = cloth.modifiers.new("Cloth", 'CLOTH')
m.settings.quality = 8
m.settings.mass = 0.2
m.settings.tension_stiffness = 10
m.collision_settings.use_self_collision = True
cube = bpy.data.objects["Cube"]
col = cube.modifiers.new("Collision", 'COLLISION')
cube.collision.thickness_outer = 0.02
m.point_cache.frame_start = 1
m.point_cache.frame_end = 60
# check: bpy.data.objects['Sheet'].modifiers['Cloth'].settings.quality == 8
