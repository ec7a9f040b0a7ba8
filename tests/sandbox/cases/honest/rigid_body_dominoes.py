import bpy, math
scene = bpy.context.scene
if scene.rigidbody_world is None:
    bpy.ops.rigidbody.world_add()
bpy.ops.mesh.primitive_plane_add(size=30)
bpy.ops.rigidbody.object_add()
bpy.context.object.rigid_body.type = 'PASSIVE'
for i in range(12):
    bpy.ops.mesh.primitive_cube_add(size=1, location=(i * 0.6, 0, 0.75))
    d = bpy.context.object
    d.scale = (0.1, 0.5, 0.75)
    bpy.ops.object.transform_apply(scale=True)
    bpy.ops.rigidbody.object_add()
    d.rigid_body.mass = 0.5
    d.rigid_body.friction = 0.6
    d.rigid_body.collision_shape = 'BOX'
    d.name = f"Domino_{i:02d}"
bpy.data.objects["Domino_00"].rotation_euler.y = math.radians(15)
scene.rigidbody_world.time_scale = 1.0
scene.rigidbody_world.substeps_per_frame = 20
# check: bpy.data.objects['Domino_11'].rigid_body.collision_shape == 'BOX'
