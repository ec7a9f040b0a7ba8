import bpy
from mathutils import Vector
bpy.ops.mesh.primitive_uv_sphere_add(radius=3, location=(0, 0, 0), segments=24, ring_count=12)
ball = bpy.context.object
bpy.context.view_layer.update()
deps = bpy.context.evaluated_depsgraph_get()
hits = []
for i in range(-2, 3):
    ok, loc, nor, idx, obj, mat = bpy.context.scene.ray_cast(deps, Vector((i * 0.8, 0, 10)), Vector((0, 0, -1)))
    if ok:
        e = bpy.data.objects.new(f"Pin{i}", None)
        e.location = loc
        e.rotation_mode = 'QUATERNION'
        e.rotation_quaternion = nor.to_track_quat('Z', 'Y')
        bpy.context.collection.objects.link(e)
        hits.append(obj.name)
# check: len(g['hits']) == 5 and bpy.data.objects['Pin0'].location.z > 2.9
