import bpy, random
random.seed(42)
city = bpy.data.collections.new("City")
bpy.context.scene.collection.children.link(city)
mats = []
for i in range(4):
    m = bpy.data.materials.new(f"Facade{i}")
    m.diffuse_color = (random.random(), random.random(), random.random(), 1)
    mats.append(m)
base = bpy.data.meshes.new("Building")
v = [(x, y, z) for z in (0, 1) for y in (-0.5, 0.5) for x in (-0.5, 0.5)]
base.from_pydata(v, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (1, 5, 7, 3), (3, 7, 6, 2), (2, 6, 4, 0)])
for ix in range(8):
    for iy in range(8):
        me = base.copy()
        me.materials.append(random.choice(mats))
        b = bpy.data.objects.new(f"B_{ix}_{iy}", me)
        b.location = (ix * 2, iy * 2, 0)
        b.scale = (random.uniform(0.8, 1.5), random.uniform(0.8, 1.5), random.choice([1, 2, 3, 5, 8]))
        b.rotation_euler[2] = random.gauss(0, 0.05)
        city.objects.link(b)
# check: len(bpy.data.collections['City'].objects) == 64
