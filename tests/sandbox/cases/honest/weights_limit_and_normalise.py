import bpy
obj = bpy.data.objects["Cube"]
me = obj.data
for i in range(6):
    vg = obj.vertex_groups.new(name=f"Bone.{i}")
    for v in me.vertices:
        vg.add([v.index], (i + 1) / (v.index + 6), 'REPLACE')
# four influences a vertex, that add up to one
for v in me.vertices:
    ranked = sorted(v.groups, key=lambda g: g.weight, reverse=True)
    for group in [g.group for g in ranked[4:]]:
        obj.vertex_groups[group].remove([v.index])
    total = sum(g.weight for g in v.groups)
    for g in v.groups:
        g.weight /= total
weights = [0.0] * len(me.vertices[0].groups)
me.vertices[0].groups.foreach_get("weight", weights)
strongest = {v.index: max(v.groups, key=lambda g: g.weight).group for v in me.vertices}
table = [{obj.vertex_groups[g.group].name: round(g.weight, 3) for g in v.groups} for v in me.vertices]
me.update()
# check: len(g['weights']) == 4 and set(g['strongest'].values()) == {5} and g['table'][0] == {'Bone.2': 0.167, 'Bone.3': 0.222, 'Bone.4': 0.278, 'Bone.5': 0.333}
