import bpy, json
config = json.loads('''
{"grid": [3, 2], "spacing": 1.5, "kinds": ["cube", "sphere"], "name": "{kind}_{i:03d}"}
''')
made = []
nx, ny = config["grid"]
for i in range(nx * ny):
    kind = config["kinds"][i % len(config["kinds"])]
    loc = (i % nx * config["spacing"], i // nx * config["spacing"], 0)
    if kind == "cube":
        bpy.ops.mesh.primitive_cube_add(size=0.8, location=loc)
    else:
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.4, location=loc, segments=12, ring_count=6)
    bpy.context.object.name = config["name"].format(kind=kind, i=i)
    made.append(bpy.context.object.name)
print(json.dumps({"made": made}, indent=2))
result = made
# check: g['result'][0] == 'cube_000' and len(g['result']) == 6
