import bpy, time, statistics, datetime, string, textwrap, math, re
start = time.time()
edges = bpy.data.objects["Cube"].data.edges
me = bpy.data.objects["Cube"].data
lengths = [(me.vertices[e.vertices[0]].co - me.vertices[e.vertices[1]].co).length for e in edges]
mean = statistics.mean(lengths)
dev = statistics.pstdev(lengths)
name = re.sub(r"[^A-Za-z0-9]+", "_", "My fancy object (v2)!").strip("_").lower()
bpy.data.objects["Cube"].name = name
elapsed = time.time() - start
stamp = datetime.datetime(2025, 1, 31, 12, 30).strftime("%Y-%m-%d %H:%M")
letters = string.ascii_uppercase[:3]
print(textwrap.dedent("""
    mean: {:.3f}
    dev:  {:.3f}
""".format(mean, dev)))
print(f"took {elapsed * 1000:.1f} ms", math.isclose(mean, 2.0), sep="\n", end="\n\n")
# check: g['mean'] == 2.0 and 'my_fancy_object_v2' in bpy.data.objects and g['stamp'] == '2025-01-31 12:30'
