import bpy, math
curve = bpy.data.curves.new("Pipe", type='CURVE')
curve.dimensions = '3D'
curve.resolution_u = 12
curve.bevel_depth = 0.08
curve.bevel_resolution = 4
curve.fill_mode = 'FULL'
spline = curve.splines.new('BEZIER')
pts = [(math.cos(t) * 2, math.sin(t) * 2, t * 0.3) for t in [i * math.pi / 4 for i in range(17)]]
spline.bezier_points.add(len(pts) - 1)
for p, co in zip(spline.bezier_points, pts):
    p.co = co
    p.handle_left_type = 'AUTO'
    p.handle_right_type = 'AUTO'
obj = bpy.data.objects.new("Pipe", curve)
bpy.context.collection.objects.link(obj)
poly = curve.splines.new('POLY')
poly.points.add(3)
for i in range(4):
    poly.points[i].co = (i, 3, 0, 1)
poly.use_cyclic_u = True
length = spline.calc_length()
# check: len(bpy.data.curves['Pipe'].splines) == 2 and g['length'] > 10
