import bpy
bpy.ops.rigidbody.world_add() if bpy.context.scene.rigidbody_world is None else None
for i in range(10):
    bpy.ops.mesh.primitive_cube_add(size=0.5, location=(0, 0, 1 + i * 0.6))
    bpy.ops.rigidbody.object_add(); rb = bpy.context.object.rigid_body; rb.mass = 2; rb.friction = 0.7; rb.collision_shape = "BOX"
bpy.ops.mesh.primitive_plane_add(size=20); bpy.ops.rigidbody.object_add(type="PASSIVE")
w = bpy.context.scene.rigidbody_world; w.substeps_per_frame = 10; w.solver_iterations = 20; w.point_cache.frame_end = 60
bpy.context.scene.gravity = (0, 0, -9.81)
for f in range(1, 20): bpy.context.scene.frame_set(f)
result = w.enabled
# check: len([o for o in bpy.data.objects if o.rigid_body]) == 11
