"""Create a simple chair: seat, back and four legs, grouped in a collection."""
import bpy

def clear_default():
    for name in ("Cube",):
        obj = bpy.data.objects.get(name)
        if obj:
            bpy.data.objects.remove(obj, do_unlink=True)

def add_box(name, size, location, collection):
    bpy.ops.mesh.primitive_cube_add(size=1, location=location)
    obj = bpy.context.active_object
    obj.name = name
    obj.scale = size
    for c in list(obj.users_collection):
        c.objects.unlink(obj)
    collection.objects.link(obj)
    return obj

clear_default()
chair = bpy.data.collections.new("Chair")
bpy.context.scene.collection.children.link(chair)
seat = add_box("Seat", (0.5, 0.5, 0.06), (0, 0, 0.45), chair)
back = add_box("Back", (0.5, 0.05, 0.55), (0, 0.225, 0.75), chair)
for i, (x, y) in enumerate([(-1, -1), (1, -1), (-1, 1), (1, 1)]):
    leg = add_box(f"Leg_{i}", (0.05, 0.05, 0.45), (x * 0.22, y * 0.22, 0.225), chair)
    leg.parent = seat
    leg.matrix_parent_inverse = seat.matrix_world.inverted()
back.parent = seat
print("Chair created with", len(chair.objects), "parts")
# check: len(bpy.data.collections['Chair'].objects) == 6 and bpy.data.objects['Leg_3'].parent.name == 'Seat'
