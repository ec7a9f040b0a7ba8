import bpy
from mathutils import Vector

bpy.ops.object.select_all(action='DESELECT')
arm_data = bpy.data.armatures.new("ArmRig")
arm_obj = bpy.data.objects.new("ArmRig", arm_data)
bpy.context.collection.objects.link(arm_obj)
bpy.context.view_layer.objects.active = arm_obj
arm_obj.select_set(True)
bpy.ops.object.mode_set(mode='EDIT')
eb = arm_data.edit_bones
upper = eb.new("upper_arm")
upper.head = (0, 0, 0)
upper.tail = (0, 0.1, 1)
lower = eb.new("forearm")
lower.head = upper.tail
lower.tail = (0, 0, 2)
lower.parent = upper
lower.use_connect = True
hand = eb.new("hand_ik")
hand.head = lower.tail
hand.tail = lower.tail + Vector((0, 0, 0.4))
hand.use_deform = False
bpy.ops.object.mode_set(mode='POSE')
pb = arm_obj.pose.bones["forearm"]
ik = pb.constraints.new('IK')
ik.target = arm_obj
ik.subtarget = "hand_ik"
ik.chain_count = 2
arm_obj.pose.bones["hand_ik"].location = (0.2, 0.1, -0.3)
bpy.ops.object.mode_set(mode='OBJECT')
# check: bpy.data.objects['ArmRig'].pose.bones['forearm'].constraints[0].chain_count == 2 and len(bpy.data.armatures['ArmRig'].bones) == 3
