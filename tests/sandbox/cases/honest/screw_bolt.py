import bpy, math
me = bpy.data.meshes.new("Thread")
me.from_pydata([(0.5, 0, 0), (0.6, 0, 0.05), (0.5, 0, 0.1)], [(0, 1), (1, 2)], [])
ob = bpy.data.objects.new("Bolt", me)
bpy.context.collection.objects.link(ob)
sc = ob.modifiers.new("Screw", 'SCREW')
sc.screw_offset = 0.1
sc.iterations = 12
sc.steps = 24
sc.use_merge_vertices = True
arr = ob.modifiers.new("Arr", 'ARRAY')
arr.fit_type = 'FIXED_COUNT'
arr.count = 2
arr.use_relative_offset = False
arr.use_constant_offset = True
arr.constant_offset_displace = (3, 0, 0)
dg = bpy.context.evaluated_depsgraph_get()
n = len(ob.evaluated_get(dg).data.vertices)
# check: g['n'] > 1000
