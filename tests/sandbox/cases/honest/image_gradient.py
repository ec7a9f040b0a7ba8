import bpy
w = h = 64
img = bpy.data.images.new("Gradient", w, h, alpha=True, float_buffer=False)
pixels = [0.0] * (w * h * 4)
for y in range(h):
    for x in range(w):
        i = (y * w + x) * 4
        pixels[i:i + 4] = [x / w, y / h, 0.5, 1.0]
img.pixels = pixels
img.pack()
img.colorspace_settings.name = 'sRGB'
mat = bpy.data.materials.new("GradientMat")
mat.use_nodes = True
tex = mat.node_tree.nodes.new("ShaderNodeTexImage")
tex.image = img
tex.interpolation = 'Closest'
tex.extension = 'REPEAT'
mat.node_tree.links.new(tex.outputs["Color"], mat.node_tree.nodes["Principled BSDF"].inputs["Base Color"])
# check: abs(bpy.data.images['Gradient'].pixels[4] - 1/64) < 0.01 and bpy.data.images['Gradient'].packed_file is not None
