import bpy
for i in range(6):
    e = bpy.data.objects.new(f"Empty_{i}", None)
    bpy.context.scene.collection.objects.link(e)
types = {}
for obj in bpy.context.scene.objects:
    types.setdefault(obj.type, []).append(obj)
for kind, objs in sorted(types.items()):
    name = kind.title()
    col = bpy.data.collections.get(name)
    if col is None:
        col = bpy.data.collections.new(name)
        bpy.context.scene.collection.children.link(col)
    col.color_tag = 'COLOR_04'
    for o in objs:
        for old in o.users_collection:
            old.objects.unlink(o)
        col.objects.link(o)
layer = bpy.context.view_layer.layer_collection.children["Empty"]
layer.exclude = False
layer.hide_viewport = False
bpy.context.view_layer.active_layer_collection = layer
# check: len(bpy.data.collections['Empty'].objects) == 6 and bpy.data.objects['Cube'].users_collection[0].name == 'Mesh'
