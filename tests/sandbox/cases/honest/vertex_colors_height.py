import bpy
obj = bpy.data.objects["Cube"]
me = obj.data
attr = me.color_attributes.new(name="Height", type='BYTE_COLOR', domain='CORNER')
zs = [v.co.z for v in me.vertices]
lo, hi = min(zs), max(zs)
for loop in me.loops:
    t = (me.vertices[loop.vertex_index].co.z - lo) / (hi - lo)
    attr.data[loop.index].color = (t, 0.2, 1 - t, 1.0)
me.color_attributes.active_color = attr
# check: bpy.data.meshes['Cube'].color_attributes['Height'].data[0].color[3] == 1.0
