import bpy
bpy.ops.curve.primitive_nurbs_path_add(radius=3)
path = bpy.context.object
path.data.use_path = True
path.data.path_duration = 100
cube = bpy.data.objects["Cube"]
c = cube.constraints.new('FOLLOW_PATH')
c.target = path
c.use_curve_follow = True
c.forward_axis = 'FORWARD_X'
path.data.eval_time = 0
path.data.keyframe_insert("eval_time", frame=1)
path.data.eval_time = 100
path.data.keyframe_insert("eval_time", frame=100)
lim = cube.constraints.new('LIMIT_ROTATION')
lim.use_limit_x = True
lim.max_x = 0.5
cube.constraints.move(1, 0)
# check: [x.type for x in bpy.data.objects['Cube'].constraints] == ['LIMIT_ROTATION', 'FOLLOW_PATH']
