import bpy
src = bpy.data.collections.new("Tree")
bpy.context.scene.collection.children.link(src)
bpy.ops.mesh.primitive_cone_add(vertices=8, radius1=0.6, depth=1.5, location=(0, 0, 1.5))
crown = bpy.context.object
bpy.context.collection.objects.unlink(crown)
src.objects.link(crown)
for i in range(10):
    inst = bpy.data.objects.new(f"TreeInst{i}", None)
    inst.instance_type = 'COLLECTION'
    inst.instance_collection = src
    inst.location = (i * 1.5 - 7, 4, 0)
    inst.empty_display_size = 0.2
    bpy.context.scene.collection.objects.link(inst)
bpy.context.view_layer.layer_collection.children['Tree'].exclude = True
# check: bpy.data.objects['TreeInst9'].instance_collection.name == 'Tree'
