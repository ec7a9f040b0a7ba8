import bpy

mat = bpy.data.materials.new(name="Wood")
mat.use_nodes = True
nt = mat.node_tree
nodes = nt.nodes
links = nt.links
bsdf = nodes.get("Principled BSDF")
coord = nodes.new("ShaderNodeTexCoord")
mapping = nodes.new("ShaderNodeMapping")
mapping.inputs["Scale"].default_value = (1.0, 1.0, 8.0)
wave = nodes.new("ShaderNodeTexWave")
wave.wave_type = 'RINGS'
wave.inputs["Scale"].default_value = 2.5
wave.inputs["Distortion"].default_value = 4.0
ramp = nodes.new("ShaderNodeValToRGB")
ramp.color_ramp.elements[0].color = (0.12, 0.05, 0.02, 1)
ramp.color_ramp.elements[1].color = (0.4, 0.2, 0.08, 1)
mid = ramp.color_ramp.elements.new(0.5)
mid.color = (0.25, 0.11, 0.04, 1)
bump = nodes.new("ShaderNodeBump")
bump.inputs["Strength"].default_value = 0.2
links.new(coord.outputs["Object"], mapping.inputs["Vector"])
links.new(mapping.outputs["Vector"], wave.inputs["Vector"])
links.new(wave.outputs["Color"], ramp.inputs["Fac"])
links.new(ramp.outputs["Color"], bsdf.inputs["Base Color"])
links.new(wave.outputs["Color"], bump.inputs["Height"])
links.new(bump.outputs["Normal"], bsdf.inputs["Normal"])
for i, node in enumerate(nodes):
    node.location = (i * 220 - 800, 0)
obj = bpy.context.active_object
if obj.data.materials:
    obj.data.materials[0] = mat
else:
    obj.data.materials.append(mat)
# check: len(bpy.data.materials['Wood'].node_tree.links) >= 7 and len(bpy.data.materials['Wood'].node_tree.nodes['Color Ramp'].color_ramp.elements) == 3
