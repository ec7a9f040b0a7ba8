import bpy
ng = bpy.data.node_groups.new("Fence", "GeometryNodeTree")
ng.interface.new_socket(name="Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
s = ng.interface.new_socket(name="Posts", in_out="INPUT", socket_type="NodeSocketInt")
s.default_value = 12; s.min_value = 2; s.max_value = 100
N, L = ng.nodes, ng.links
gi, go = N.new("NodeGroupInput"), N.new("NodeGroupOutput")
line = N.new("GeometryNodeMeshLine"); line.mode = "OFFSET"
line.inputs["Offset"].default_value = (0.5, 0, 0)
cube = N.new("GeometryNodeMeshCube"); cube.inputs["Size"].default_value = (0.1, 0.1, 1)
inst = N.new("GeometryNodeInstanceOnPoints")
real = N.new("GeometryNodeRealizeInstances")
rnd = N.new("FunctionNodeRandomValue"); rnd.data_type = "FLOAT_VECTOR"
rnd.inputs[0].default_value = (0.8, 0.8, 0.8); rnd.inputs[1].default_value = (1, 1, 1.3)
L.new(gi.outputs["Posts"], line.inputs["Count"])
L.new(line.outputs["Mesh"], inst.inputs["Points"])
L.new(cube.outputs["Mesh"], inst.inputs["Instance"])
L.new(rnd.outputs["Value"], inst.inputs["Scale"])
L.new(inst.outputs["Instances"], real.inputs["Geometry"])
blur = N.new("GeometryNodeBlurAttribute"); blur.data_type = "FLOAT_VECTOR"
store = N.new("GeometryNodeStoreNamedAttribute"); store.data_type = "FLOAT"; store.domain = "POINT"
store.inputs["Name"].default_value = "height"
cmp = N.new("FunctionNodeCompare"); cmp.data_type = "FLOAT"; cmp.operation = "GREATER_THAN"
sw = N.new("GeometryNodeSwitch"); sw.input_type = "GEOMETRY"
cap = N.new("GeometryNodeCaptureAttribute"); cap.domain = "FACE"
stat = N.new("GeometryNodeAttributeStatistic"); stat.data_type = "FLOAT"
prox = N.new("GeometryNodeProximity"); prox.target_element = "EDGES"
ray = N.new("GeometryNodeRaycast"); ray.data_type = "FLOAT"
si = N.new("GeometryNodeSampleIndex"); si.data_type = "FLOAT_VECTOR"; si.domain = "POINT"
sns = N.new("GeometryNodeSampleNearestSurface"); sns.data_type = "FLOAT_VECTOR"
acc = N.new("GeometryNodeAccumulateField"); acc.data_type = "FLOAT"
fad = N.new("GeometryNodeFieldAtIndex"); fad.data_type = "FLOAT"
imd = N.new("GeometryNodeMeshBoolean"); imd.operation = "UNION"
ext = N.new("GeometryNodeExtrudeMesh"); ext.mode = "FACES"
dl = N.new("GeometryNodeDeleteGeometry"); dl.domain = "FACE"; dl.mode = "ALL"
mr = N.new("ShaderNodeMapRange"); mr.data_type = "FLOAT"; mr.interpolation_type = "SMOOTHSTEP"
mx = N.new("ShaderNodeMix"); mx.data_type = "RGBA"; mx.blend_type = "MULTIPLY"
fc = N.new("GeometryNodeCurveFillet" if False else "GeometryNodeFilletCurve"); fc.mode = "POLY"
L.new(real.outputs["Geometry"], store.inputs["Geometry"])
L.new(store.outputs["Geometry"], go.inputs["Geometry"])
me = bpy.data.meshes.new("Fence"); ob = bpy.data.objects.new("Fence", me)
bpy.context.collection.objects.link(ob)
mod = ob.modifiers.new("Fence", "NODES"); mod.node_group = ng
bpy.context.view_layer.update()
dg = bpy.context.evaluated_depsgraph_get()
count = len(ob.evaluated_get(dg).data.vertices)
result = count
# check: g['count'] == 12 * 8
