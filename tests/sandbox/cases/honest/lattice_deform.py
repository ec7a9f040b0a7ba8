import bpy
lat = bpy.data.lattices.new("Lat")
lat.points_u, lat.points_v, lat.points_w = 3, 3, 3
lob = bpy.data.objects.new("Lattice", lat)
lob.scale = (2.2, 2.2, 2.2)
bpy.context.collection.objects.link(lob)
cube = bpy.data.objects["Cube"]
m = cube.modifiers.new("Lattice", 'LATTICE')
m.object = lob
for p in lat.points:
    if p.co.z > 0.4:
        p.co_deform.x += 0.3
# check: bpy.data.objects['Cube'].modifiers['Lattice'].object.name == 'Lattice'
