import bpy
from bpy.types import Mesh, Curve, Light
def describe(o):
    d = o.data
    if isinstance(d, Mesh): return f"mesh {len(d.vertices)}"
    if isinstance(d, (Curve, bpy.types.Light)): return type(d).__name__
    if d.__class__ == bpy.types.Camera: return "camera " + d.__class__.__name__
    return str(type(d))
lines = [f"{o.name:<12}|{describe(o):>16}" for o in bpy.data.objects]
counts = {}
for o in bpy.data.objects:
    counts[type(o.data)] = counts.get(type(o.data), 0) + 1
table = {t.__name__: n for t, n in counts.items()}
props = [p.identifier for p in bpy.types.Object.bl_rna.properties if p.type == "FLOAT"][:5]
enum = [i.identifier for i in bpy.types.Object.bl_rna.properties["rotation_mode"].enum_items]
kinds = sorted({m.identifier for m in bpy.types.Modifier.bl_rna.properties["type"].enum_items})
print("\n".join(lines)); result = table, hasattr(bpy.types, "GreasePencilv3"), issubclass(bpy.types.Mesh, bpy.types.ID)
# check: g['table'] == {'Mesh': 1, 'PointLight': 1, 'Camera': 1} and 'XYZ' in g['enum']
