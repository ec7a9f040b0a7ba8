import bpy, math
bpy.ops.object.armature_add(location=(0, 0, 0))
rig = bpy.context.object
bpy.ops.object.mode_set(mode='EDIT')
eb = rig.data.edit_bones
prev = eb[0]
for i in range(4):
    nb = eb.new(f"Tail.{i}")
    nb.head = prev.tail
    nb.tail = (prev.tail[0], prev.tail[1] + 0.2, prev.tail[2] + 0.8)
    nb.parent = prev
    nb.use_connect = True
    prev = nb
bpy.ops.armature.select_all(action='SELECT')
bpy.ops.armature.calculate_roll(type='GLOBAL_POS_Z')
bpy.ops.object.mode_set(mode='POSE')
col = rig.data.collections.new("Tail")
for b in rig.data.bones:
    if b.name.startswith("Tail"):
        col.assign(b)
for i, pb in enumerate(rig.pose.bones):
    pb.rotation_mode = 'XYZ'
    pb.rotation_euler = (math.radians(10 * i), 0, 0)
    con = pb.constraints.new('LIMIT_ROTATION')
    con.use_limit_x = True
bpy.ops.object.mode_set(mode='OBJECT')
# check: len(bpy.data.objects['Armature'].data.collections['Tail'].bones) == 4
