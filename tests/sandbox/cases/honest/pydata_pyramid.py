import bpy

verts = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (0, 0, 1.5)]
faces = [(0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]
mesh = bpy.data.meshes.new("PyramidMesh")
mesh.from_pydata(verts, [], faces)
mesh.update(calc_edges=True)
if mesh.validate(verbose=False):
    print("mesh had problems")
obj = bpy.data.objects.new("Pyramid", mesh)
bpy.context.scene.collection.objects.link(obj)
bpy.context.view_layer.objects.active = obj
obj.select_set(True)
# check: len(bpy.data.objects['Pyramid'].data.polygons) == 5 and bpy.context.view_layer.objects.active.name == 'Pyramid'
