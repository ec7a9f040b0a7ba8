import bpy
scene = bpy.context.scene
if hasattr(scene, "node_tree"):
    scene.use_nodes = True
    tree = scene.node_tree
else:
    tree = bpy.data.node_groups.new("Comp", "CompositorNodeTree")
    scene.compositing_node_group = tree
for n in list(tree.nodes):
    tree.nodes.remove(n)
rl = tree.nodes.new('CompositorNodeRLayers')
blur = tree.nodes.new('CompositorNodeBlur')
hs = tree.nodes.new('CompositorNodeHueSat')
tree.links.new(rl.outputs['Image'], blur.inputs['Image'])
tree.links.new(blur.outputs['Image'], hs.inputs['Image'])
blur.location.x = 200
hs.location.x = 400
ok = len(tree.links)
# check: g['ok'] == 2
