import bpy
obj = bpy.data.objects["Cube"]
arm = bpy.data.armatures.new("Rig")
rig = bpy.data.objects.new("Rig", arm)
bpy.context.collection.objects.link(rig)
bpy.context.view_layer.objects.active = rig
bpy.ops.object.mode_set(mode="EDIT")
for i, name in enumerate(["bottom", "top"]):
    b = arm.edit_bones.new(name)
    b.head = (0, 0, -1 + i)
    b.tail = (0, 0, 0 + i)
bpy.ops.object.mode_set(mode="OBJECT")
for name in ("bottom", "top"):
    vg = obj.vertex_groups.new(name=name)
    for v in obj.data.vertices:
        w = 1.0 if (v.co.z > 0) == (name == "top") else 0.0
        vg.add([v.index], w, 'REPLACE')
mod = obj.modifiers.new("Armature", 'ARMATURE')
mod.object = rig
obj.parent = rig
rig.pose.bones["top"].rotation_mode = 'XYZ'
rig.pose.bones["top"].rotation_euler.x = 0.5
rig.pose.bones["top"].keyframe_insert("rotation_euler", frame=1)
weights = [[g.weight for g in v.groups] for v in obj.data.vertices]
# check: len(bpy.data.objects['Cube'].vertex_groups) == 2 and abs(bpy.data.objects['Rig'].pose.bones['top'].rotation_euler.x - 0.5) < 1e-6
