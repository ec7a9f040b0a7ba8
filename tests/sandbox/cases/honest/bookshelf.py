"""Build a bookshelf with randomly coloured books."""
import bpy, random
from mathutils import Vector

random.seed(7)
col = bpy.data.collections.new("Bookshelf")
bpy.context.scene.collection.children.link(col)

def box(name, size, loc):
    bpy.ops.mesh.primitive_cube_add(size=1, location=loc)
    ob = bpy.context.active_object
    ob.name = name
    ob.scale = size
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    for c in list(ob.users_collection):
        c.objects.unlink(ob)
    col.objects.link(ob)
    return ob

W, H, D, T = 1.2, 2.0, 0.35, 0.03
for x in (-W / 2, W / 2):
    box("Side", (T, D, H), (x, 0, H / 2))
shelves = [box(f"Shelf.{i}", (W, D, T), (0, 0, i * H / 5)) for i in range(6)]
mats = []
for i in range(6):
    m = bpy.data.materials.new(f"Book {i}")
    m.use_nodes = True
    bsdf = m.node_tree.nodes.get("Principled BSDF")
    bsdf.inputs["Base Color"].default_value = (*[random.random() for _ in range(3)], 1.0)
    bsdf.inputs["Roughness"].default_value = 0.6
    mats.append(m)
n = 0
for level in range(5):
    x = -W / 2 + 0.05
    while x < W / 2 - 0.16:
        w = random.uniform(0.1, 0.16)
        h = random.uniform(0.2, 0.33)
        b = box("Book", (w, D * 0.7, h), (x + w / 2, 0, level * H / 5 + T / 2 + h / 2))
        b.data.materials.append(random.choice(mats))
        x += w + 0.002
        n += 1
assert type(shelves[0]) is bpy.types.Object
print("books", n)
result = {"books": n, "type": type(shelves[0]).__name__}
# check: g['n'] > 20 and g['result']['type'] == 'Object'
