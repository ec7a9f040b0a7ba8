import bpy
ng = bpy.data.node_groups.new("Stairs", 'GeometryNodeTree')
ng.interface.new_socket("Geometry", in_out='OUTPUT', socket_type='NodeSocketGeometry')
steps = ng.interface.new_socket("Steps", in_out='INPUT', socket_type='NodeSocketInt')
steps.default_value = 10
steps.min_value = 1
N = ng.nodes.new
gi, go = N('NodeGroupInput'), N('NodeGroupOutput')
line = N('GeometryNodeMeshLine')
line.inputs['Offset'].default_value = (0.3, 0, 0.2)
cube = N('GeometryNodeMeshCube')
cube.inputs['Size'].default_value = (0.3, 1.0, 0.2)
inst, real = N('GeometryNodeInstanceOnPoints'), N('GeometryNodeRealizeInstances')
L = ng.links.new
L(gi.outputs['Steps'], line.inputs['Count'])
L(line.outputs['Mesh'], inst.inputs['Points'])
L(cube.outputs['Mesh'], inst.inputs['Instance'])
L(inst.outputs['Instances'], real.inputs['Geometry'])
L(real.outputs['Geometry'], go.inputs[0])
ob = bpy.data.objects.new("Stairs", bpy.data.meshes.new("Stairs"))
bpy.context.collection.objects.link(ob)
md = ob.modifiers.new("GN", 'NODES')
md.node_group = ng
bpy.context.view_layer.update()
n = len(ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices)
# check: g['n'] == 80
