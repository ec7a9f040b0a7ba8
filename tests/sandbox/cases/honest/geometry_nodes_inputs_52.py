import bpy
ng = bpy.data.node_groups.new("Row", 'GeometryNodeTree')
ng.interface.new_socket("Geometry", in_out='OUTPUT', socket_type='NodeSocketGeometry')
count = ng.interface.new_socket("Count", in_out='INPUT', socket_type='NodeSocketInt')
count.default_value = 3
inp, out = ng.nodes.new('NodeGroupInput'), ng.nodes.new('NodeGroupOutput')
line = ng.nodes.new('GeometryNodeMeshLine')
ng.links.new(inp.outputs['Count'], line.inputs['Count'])
ng.links.new(line.outputs['Mesh'], out.inputs[0])
ob = bpy.data.objects["Cube"]
md = ob.modifiers.new("Row", 'NODES')
md.node_group = ng
if bpy.app.version >= (5, 2, 0):
    getattr(md.properties.inputs, count.identifier).value = 12
else:
    md[count.identifier] = 12
ob.update_tag()
bpy.context.view_layer.update()
n = len(ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices)
# check: g['n'] == 12
