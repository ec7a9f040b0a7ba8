import bpy
mat = bpy.data.materials.new("Bricks"); mat.use_nodes = True
nt = mat.node_tree
nt.nodes.clear()
out = nt.nodes.new("ShaderNodeOutputMaterial"); out.location = (600, 0)
bsdf = nt.nodes.new("ShaderNodeBsdfPrincipled"); bsdf.location = (300, 0)
brick = nt.nodes.new("ShaderNodeTexBrick"); brick.offset = 0.5; brick.squash = 1.0
brick.inputs["Scale"].default_value = 4
brick.inputs["Color1"].default_value = (0.4, 0.1, 0.05, 1)
ramp = nt.nodes.new("ShaderNodeValToRGB")
ramp.color_ramp.interpolation = "EASE"
ramp.color_ramp.elements[0].position = 0.3
e = ramp.color_ramp.elements.new(0.5); e.color = (1, 0.5, 0.2, 1)
noise = nt.nodes.new("ShaderNodeTexNoise"); noise.noise_dimensions = "3D"
vor = nt.nodes.new("ShaderNodeTexVoronoi"); vor.feature = "DISTANCE_TO_EDGE"; vor.distance = "EUCLIDEAN"
wave = nt.nodes.new("ShaderNodeTexWave"); wave.wave_type = "RINGS"; wave.bands_direction = "Z"
bump = nt.nodes.new("ShaderNodeBump"); bump.invert = True
curves = nt.nodes.new("ShaderNodeRGBCurve")
curves.mapping.curves[3].points.new(0.5, 0.4); curves.mapping.update()
mapping = nt.nodes.new("ShaderNodeMapping"); mapping.vector_type = "POINT"
tc = nt.nodes.new("ShaderNodeTexCoord")
frame = nt.nodes.new("NodeFrame"); frame.label = "Texture"; brick.parent = frame
nt.links.new(tc.outputs["Generated"], mapping.inputs["Vector"])
nt.links.new(mapping.outputs["Vector"], brick.inputs["Vector"])
nt.links.new(brick.outputs["Color"], bsdf.inputs["Base Color"])
nt.links.new(brick.outputs["Fac"], bump.inputs["Height"])
nt.links.new(bump.outputs["Normal"], bsdf.inputs["Normal"])
nt.links.new(bsdf.outputs["BSDF"], out.inputs["Surface"])
for node in nt.nodes:
    node.select = False
    node.hide = False
ob = bpy.data.objects["Cube"]
ob.data.materials.clear(); ob.data.materials.append(mat)
links = [(l.from_node.bl_idname, l.to_node.bl_idname) for l in nt.links]
result = len(links)
# check: g['result'] == 6
