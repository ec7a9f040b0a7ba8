import bpy
c = bpy.data.curves.new("Title", "FONT"); c.body = "Hello\nWorld"
c.align_x, c.align_y = "CENTER", "CENTER"; c.extrude = 0.05; c.bevel_depth = 0.01; c.bevel_resolution = 3; c.size = 1.5
c.space_character = 1.1
o = bpy.data.objects.new("Title", c); bpy.context.collection.objects.link(o)
p = bpy.data.curves.new("Path", "CURVE"); p.dimensions = "3D"; p.resolution_u = 24
s = p.splines.new("BEZIER"); s.bezier_points.add(3)
for i, bp in enumerate(s.bezier_points):
    bp.co = (i * 2, (-1) ** i, 0); bp.handle_left_type = bp.handle_right_type = "AUTO"
s.use_cyclic_u = False
po = bpy.data.objects.new("Path", p); bpy.context.collection.objects.link(po)
c.follow_curve = po
prof = bpy.data.curves.new("Prof", "CURVE"); prof.dimensions = "2D"
ps = prof.splines.new("NURBS"); ps.points.add(7); ps.use_cyclic_u = True; ps.use_endpoint_u = False; ps.order_u = 4
import math
for i, pt in enumerate(ps.points):
    pt.co = (0.1 * math.cos(i * math.tau / 8), 0.1 * math.sin(i * math.tau / 8), 0, 1)
pro = bpy.data.objects.new("Prof", prof); bpy.context.collection.objects.link(pro)
p.bevel_mode = "OBJECT"; p.bevel_object = pro; p.use_fill_caps = True
bpy.context.view_layer.update()
bpy.ops.object.select_all(action="DESELECT"); po.select_set(True); bpy.context.view_layer.objects.active = po
bpy.ops.object.convert(target="MESH")
result = len(bpy.data.objects["Path"].data.vertices)
# check: g['result'] > 100
