import bpy
ob = bpy.data.objects["Cube"]
for i in range(4):
    ob.modifiers.new(f"m{i}", "BEVEL")
for m in reversed(ob.modifiers):
    if m.name != "m1": ob.modifiers.remove(m)
while ob.material_slots:
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.material_slot_remove()
for vg in ob.vertex_groups: pass
ob.vertex_groups.new(name="a").add([0, 1, 2], 0.5, "REPLACE")
ob.vertex_groups.clear()
mat = bpy.data.materials.new("x"); mat.use_nodes = True
for n in [n for n in mat.node_tree.nodes if n.type != "OUTPUT_MATERIAL"]:
    mat.node_tree.nodes.remove(n)
for link in list(mat.node_tree.links): mat.node_tree.links.remove(link)
result = [m.name for m in ob.modifiers], [i for i, m in enumerate(ob.modifiers)], dict(zip(ob.modifiers.keys(), ob.modifiers))
first, *rest = ob.modifiers
# check: g['first'].name == 'm1' and len(bpy.data.materials['x'].node_tree.nodes) == 1
