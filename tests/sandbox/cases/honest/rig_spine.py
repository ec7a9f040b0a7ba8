import bpy
from math import radians
arm = bpy.data.armatures.new("Spine"); ob = bpy.data.objects.new("Spine", arm)
bpy.context.collection.objects.link(ob)
bpy.context.view_layer.objects.active = ob
bpy.ops.object.mode_set(mode="EDIT")
prev = None
for i in range(6):
    b = arm.edit_bones.new(f"spine.{i:03d}")
    b.head = (0, 0, i * 0.3); b.tail = (0, 0, (i + 1) * 0.3); b.roll = 0
    if prev: b.parent = prev; b.use_connect = True
    prev = b
ctl = arm.edit_bones.new("CTRL_top"); ctl.head = (0, 0, 1.8); ctl.tail = (0, 0.3, 1.8); ctl.use_deform = False
bpy.ops.armature.select_all(action="SELECT")
bpy.ops.armature.subdivide(number_cuts=1)
bpy.ops.object.mode_set(mode="POSE")
names = [b.name for b in ob.pose.bones]
pb = ob.pose.bones["spine.005"]
ik = pb.constraints.new("IK"); ik.target = ob; ik.subtarget = "CTRL_top"; ik.chain_count = 4
for b in ob.pose.bones:
    b.rotation_mode = "XYZ"
    b.lock_location = (True, True, True)
ob.pose.bones["CTRL_top"].lock_location = (False,) * 3
ob.pose.bones["CTRL_top"].location = (0.2, 0, -0.2)
ob.pose.bones["CTRL_top"].keyframe_insert("location", frame=1)
ob.pose.bones["CTRL_top"].location = (-0.2, 0, 0)
ob.pose.bones["CTRL_top"].keyframe_insert("location", frame=30)
bpy.ops.object.mode_set(mode="OBJECT")
fc = [f.data_path for f in ob.animation_data.action.fcurves] if hasattr(ob.animation_data.action, "fcurves") else ["x"] * 3
result = names
# check: len(g['names']) == 14 and len(g['fc']) == 3
