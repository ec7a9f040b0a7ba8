import bpy
img = bpy.data.images.new("Checker", 256, 256, alpha=True); img.generated_type = "UV_GRID"
px = bpy.data.images.new("Grad", 64, 64)
px.pixels = [v for y in range(64) for x in range(64) for v in (x / 63, y / 63, 0.5, 1.0)]
px.update(); px.pack()
print(px.pixels[0:4], px.size[:], len(px.pixels))
ob = bpy.data.objects["Cube"]; bpy.context.view_layer.objects.active = ob
bpy.ops.object.select_all(action="DESELECT"); ob.select_set(True)
bpy.ops.object.mode_set(mode="EDIT"); bpy.ops.mesh.select_all(action="SELECT")
bpy.ops.uv.smart_project(angle_limit=1.15, island_margin=0.02)
bpy.ops.uv.average_islands_scale(); bpy.ops.uv.pack_islands(margin=0.01)
bpy.ops.object.mode_set(mode="OBJECT")
m = bpy.data.materials.new("UV"); m.use_nodes = True
t = m.node_tree.nodes.new("ShaderNodeTexImage"); t.image = img; t.interpolation = "Closest"; t.extension = "REPEAT"
m.node_tree.links.new(t.outputs["Color"], m.node_tree.nodes["Principled BSDF"].inputs["Base Color"])
ob.data.materials.append(m); ob.active_material_index = len(ob.material_slots) - 1
for poly in ob.data.polygons: poly.material_index = ob.active_material_index
uv = ob.data.uv_layers.active
result = max(d.uv.x for d in uv.data) <= 1.001
# check: g['result']
