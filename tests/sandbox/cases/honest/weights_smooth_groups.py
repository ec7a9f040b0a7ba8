import bpy
obj = bpy.data.objects["Cube"]
vg = obj.vertex_groups.new(name="Pin")
top = [v.index for v in obj.data.vertices if v.co.z > 0]
vg.add(top, 0.75, 'ADD')
got = {}
for v in obj.data.vertices:
    for ge in v.groups:
        if ge.group == vg.index:
            got[v.index] = ge.weight
try:
    vg.weight(0)
except RuntimeError as e:
    print("not in group", e)
mask = obj.modifiers.new("Mask", 'MASK')
mask.vertex_group = vg.name
# check: len(g['got']) == 4 and abs(list(g['got'].values())[0] - 0.75) < 1e-6
