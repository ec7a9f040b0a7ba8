import bpy, colorsys
palette = {}
for i in range(12):
    r, gg, b = colorsys.hsv_to_rgb(i / 12, 0.8, 0.9)
    name = f"Palette_{i:02}"
    mat = bpy.data.materials.new(name)
    mat.use_nodes = True
    p = next(n for n in mat.node_tree.nodes if n.type == 'BSDF_PRINCIPLED')
    p.inputs[0].default_value = (r, gg, b, 1)
    if "Emission Strength" in p.inputs:
        p.inputs["Emission Strength"].default_value = 0.5
    mat.diffuse_color = p.inputs[0].default_value
    mat.use_fake_user = True
    palette[name] = tuple(round(c, 3) for c in mat.diffuse_color)
for slot in bpy.context.object.material_slots:
    slot.material = bpy.data.materials["Palette_03"]
result = palette
# check: len(g['result']) == 12 and bpy.data.objects['Cube'].material_slots[0].material.name == 'Palette_03'
