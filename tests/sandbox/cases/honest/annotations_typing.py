from __future__ import annotations
from typing import Iterable, Optional
import bpy
from mathutils import Vector

def bounds(objs: Iterable[bpy.types.Object]) -> tuple[Vector, Vector]:
    pts: list[Vector] = [o.matrix_world @ Vector(c) for o in objs for c in o.bound_box]
    lo = Vector((min(p.x for p in pts), min(p.y for p in pts), min(p.z for p in pts)))
    hi = Vector((max(p.x for p in pts), max(p.y for p in pts), max(p.z for p in pts)))
    return lo, hi

def find(name: str) -> Optional[bpy.types.Object]:
    return bpy.data.objects.get(name)

meshes = [o for o in bpy.context.scene.objects if isinstance(o.data, bpy.types.Mesh)]
lo, hi = bounds(meshes)
size = hi - lo
center: Vector = (lo + hi) / 2
missing = find("Nope")
result = [round(x, 2) for x in size]
# check: g['result'] == [2.0, 2.0, 2.0] and g['missing'] is None
