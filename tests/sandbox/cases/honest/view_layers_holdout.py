import bpy
scene = bpy.context.scene
vl = scene.view_layers.new("Characters")
vl.use_pass_mist = True
col = bpy.data.collections.new("Chars")
scene.collection.children.link(col)
for lc in vl.layer_collection.children:
    lc.holdout = lc.name != "Chars"
vl.samples = 16
aov = vl.aovs.add()
aov.name = "Mask"
names = [v.name for v in scene.view_layers]
# check: 'Characters' in g['names'] and bpy.context.scene.view_layers['Characters'].aovs[0].name == 'Mask'
