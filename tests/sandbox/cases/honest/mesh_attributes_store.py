import bpy
me = bpy.data.objects["Cube"].data
a = me.attributes.new(name="temperature", type='FLOAT', domain='POINT')
for i, d in enumerate(a.data):
    d.value = i * 10.0
vals = [0.0] * len(me.vertices)
a.data.foreach_get("value", vals)
b = me.attributes.new("flag", 'BOOLEAN', 'FACE')
b.data.foreach_set("value", [True, False] * 3)
mean = sum(vals) / len(vals)
for e in me.edges:
    e.use_seam = True
me.polygons.foreach_set("use_smooth", [True] * len(me.polygons))
me.update()
# check: g['mean'] == 35.0 and bpy.data.meshes['Cube'].edges[0].use_seam
