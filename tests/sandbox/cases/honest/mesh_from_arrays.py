"""A mesh out of arrays alone, with the lengths of its faces as older versions wanted them, and a node group's update."""

import bmesh
import bpy
import numpy as np

side = 20
x, y = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
points = np.stack([x, y, 0.2 * np.sin(4 * x) * np.cos(3 * y)], axis=-1).reshape(-1, 3).astype(np.float32)
number = np.arange(side * side).reshape(side, side)
faces = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
mesh = bpy.data.meshes.new("Wave")
mesh.vertices.add(len(points))
mesh.vertices.foreach_set("co", points.ravel())
mesh.loops.add(faces.size)
mesh.loops.foreach_set("vertex_index", faces.ravel().astype(np.int32))
mesh.polygons.add(len(faces))
mesh.polygons.foreach_set("loop_start", np.arange(0, faces.size, 4, dtype=np.int32))
mesh.polygons.foreach_set("loop_total", np.full(len(faces), 4, dtype=np.int32))
mesh.update(calc_edges=True)
mesh.validate()
wave = bpy.data.objects.new("Wave", mesh)
bpy.context.collection.objects.link(wave)

edited = bmesh.new()
edited.from_mesh(mesh)
height = edited.verts.layers.float.new("height")
uv = edited.loops.layers.uv.verify()
colour = edited.loops.layers.color.new("Colour")
for vertex in edited.verts:
    vertex[height] = vertex.co.z
for face in edited.faces:
    for loop in face.loops:
        loop[uv].uv = loop.vert.co.xy
        loop[colour] = (1.0, 0.5, 0.0, 1.0)
edited.to_mesh(mesh)
edited.free()

for slot in range(2):
    mesh.materials.append(bpy.data.materials.new(f"Half{slot}"))
bpy.context.view_layer.objects.active = wave
wave.select_set(True)
bpy.ops.object.mode_set(mode="EDIT")
edited = bmesh.from_edit_mesh(mesh)
for face in edited.faces:
    face.select = face.calc_center_median().x > 0
wave.active_material_index = 1
bpy.ops.object.material_slot_assign()
bpy.ops.object.mode_set(mode="OBJECT")

group = bpy.data.node_groups.new("Pass", "GeometryNodeTree")
for direction in ("INPUT", "OUTPUT"):
    group.interface.new_socket("Geometry", in_out=direction, socket_type="NodeSocketGeometry")
group.links.new(group.nodes.new("NodeGroupInput").outputs[0], group.nodes.new("NodeGroupOutput").inputs[0])
group.interface_update(bpy.context)
wave.modifiers.new("Pass", "NODES").node_group = group
