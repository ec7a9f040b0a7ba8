import bpy
sc = bpy.context.scene
vl = sc.view_layers.new("Masks"); vl.use_pass_z = True; vl.use_pass_cryptomatte_object = True
for n in ("Characters", "Props", "Lights"):
    c = bpy.data.collections.new(n); sc.collection.children.link(c); c.color_tag = "COLOR_04"
lc = bpy.context.view_layer.layer_collection.children["Lights"]; lc.exclude = False; lc.hide_viewport = False
bpy.context.view_layer.active_layer_collection = lc
bpy.ops.object.light_add(type="SUN", location=(0, 0, 10)); sun = bpy.context.object; sun.data.energy = 3; sun.data.angle = 0.02
for o in list(sc.collection.objects):
    if o.type == "MESH":
        bpy.data.collections["Props"].objects.link(o); sc.collection.objects.unlink(o)
bpy.ops.object.collection_instance_add(collection="Props", location=(5, 0, 0)); inst = bpy.context.object
inst.instance_collection = bpy.data.collections["Props"]; inst.show_name = True
new = sc.copy() if False else bpy.data.scenes.new("Shot_02"); new.collection.children.link(bpy.data.collections["Props"]); new.frame_end = 48
new.world = sc.world
result = sorted(c.name for c in sc.collection.children_recursive)
# check: 'Props' in g['result'] and len(bpy.data.scenes) == 2
