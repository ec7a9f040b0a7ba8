import bpy

obj = bpy.data.objects["Cube"]
tree = bpy.data.node_groups.new("Scatter", 'GeometryNodeTree')
tree.interface.new_socket("Geometry", in_out='INPUT', socket_type='NodeSocketGeometry')
density = tree.interface.new_socket("Density", in_out='INPUT', socket_type='NodeSocketFloat')
density.default_value = 10.0
density.min_value = 0.0
tree.interface.new_socket("Geometry", in_out='OUTPUT', socket_type='NodeSocketGeometry')

nodes, links = tree.nodes, tree.links
gin = nodes.new('NodeGroupInput'); gin.location = (-600, 0)
gout = nodes.new('NodeGroupOutput'); gout.location = (600, 0)
dist = nodes.new('GeometryNodeDistributePointsOnFaces'); dist.location = (-300, 100)
inst = nodes.new('GeometryNodeInstanceOnPoints'); inst.location = (0, 100)
ico = nodes.new('GeometryNodeMeshIcoSphere'); ico.location = (-300, -200)
ico.inputs['Radius'].default_value = 0.05
ico.inputs['Subdivisions'].default_value = 2
join = nodes.new('GeometryNodeJoinGeometry'); join.location = (300, 0)
links.new(gin.outputs['Geometry'], dist.inputs['Mesh'])
links.new(gin.outputs['Density'], dist.inputs['Density'])
links.new(dist.outputs['Points'], inst.inputs['Points'])
links.new(ico.outputs['Mesh'], inst.inputs['Instance'])
links.new(inst.outputs['Instances'], join.inputs['Geometry'])
links.new(gin.outputs['Geometry'], join.inputs['Geometry'])
links.new(join.outputs['Geometry'], gout.inputs['Geometry'])

mod = obj.modifiers.new("Scatter", 'NODES')
mod.node_group = tree
if hasattr(mod, "properties"):
    getattr(mod.properties.inputs, density.identifier).value = 25.0
else:
    mod[density.identifier] = 25.0
bpy.context.view_layer.update()
depsgraph = bpy.context.evaluated_depsgraph_get()
count = sum(1 for i in depsgraph.object_instances if i.is_instance)
# check: g['count'] > 100 and bpy.data.objects['Cube'].modifiers['Scatter'].node_group.name == 'Scatter'
