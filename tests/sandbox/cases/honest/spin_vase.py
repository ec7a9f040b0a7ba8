import bpy, bmesh, math
profile = [(0.4, 0.0), (0.6, 0.3), (0.9, 1.0), (0.5, 1.8), (0.35, 2.2), (0.55, 2.5)]
bm = bmesh.new()
verts = [bm.verts.new((r, 0, z)) for r, z in profile]
edges = [bm.edges.new((a, b)) for a, b in zip(verts, verts[1:])]
bmesh.ops.spin(bm, geom=verts + edges, cent=(0, 0, 0), axis=(0, 0, 1), angle=math.tau, steps=32, use_merge=True)
bmesh.ops.remove_doubles(bm, verts=bm.verts[:], dist=1e-4)
me = bpy.data.meshes.new("Vase")
bm.to_mesh(me); bm.free()
vase = bpy.data.objects.new("Vase", me)
bpy.context.collection.objects.link(vase)
mod = vase.modifiers.new("Solidify", 'SOLIDIFY'); mod.thickness = 0.05
sub = vase.modifiers.new("Subdiv", 'SUBSURF'); sub.levels = 2; sub.render_levels = 3
# check: len(bpy.data.objects['Vase'].data.polygons) == 32 * 5
