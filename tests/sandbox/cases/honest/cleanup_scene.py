import bpy
from collections import defaultdict, Counter
removed = Counter()
for o in list(bpy.data.objects):
    if o.type == "EMPTY" and not o.children:
        bpy.data.objects.remove(o, do_unlink=True); removed["empty"] += 1
for block in (bpy.data.meshes, bpy.data.materials, bpy.data.images, bpy.data.textures, bpy.data.curves, bpy.data.node_groups):
    for item in [i for i in block if i.users == 0 and not i.use_fake_user]:
        block.remove(item); removed[type(item).__name__ if False else "data"] += 1
by_mat = defaultdict(list)
for o in bpy.data.objects:
    if o.type == "MESH":
        for s in o.material_slots:
            if s.material: by_mat[s.material.name].append(o.name)
        bpy.context.view_layer.objects.active = o
        with bpy.context.temp_override(active_object=o, object=o, selected_objects=[o]):
            bpy.ops.object.shade_smooth()
        o.data.validate(verbose=False)
for i, o in enumerate(sorted(bpy.data.objects, key=lambda o: (o.type, o.name)), 1):
    o.name = f"{o.type.title()}_{i:02d}"
result = {"mats": dict(by_mat), "removed": dict(removed), "names": [o.name for o in bpy.data.objects]}
# check: len(g['result']['names']) == 3
