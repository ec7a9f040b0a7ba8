import bpy
grp = bpy.data.node_groups.new("Tint", 'ShaderNodeTree')
grp.interface.new_socket(name="Color", in_out='INPUT', socket_type='NodeSocketColor')
fac = grp.interface.new_socket(name="Amount", in_out='INPUT', socket_type='NodeSocketFloat')
fac.default_value = 0.3
fac.min_value, fac.max_value = 0, 1
grp.interface.new_socket(name="Color", in_out='OUTPUT', socket_type='NodeSocketColor')
i = grp.nodes.new("NodeGroupInput"); o = grp.nodes.new("NodeGroupOutput")
mix = grp.nodes.new("ShaderNodeMix")
mix.data_type = 'RGBA'
mix.blend_type = 'MULTIPLY'
grp.links.new(i.outputs["Amount"], mix.inputs[0])
grp.links.new(i.outputs["Color"], mix.inputs[6])
grp.links.new(mix.outputs[2], o.inputs["Color"])
mat = bpy.data.materials["Material"]
mat.use_nodes = True
n = mat.node_tree.nodes.new("ShaderNodeGroup")
n.node_tree = grp
n.inputs["Amount"].default_value = 0.7
mat.node_tree.links.new(n.outputs[0], mat.node_tree.nodes["Principled BSDF"].inputs["Base Color"])
for item in grp.interface.items_tree:
    print(item.item_type, item.name, item.in_out)
# check: bpy.data.node_groups['Tint'].users == 1 and len(bpy.data.node_groups['Tint'].links) == 3
