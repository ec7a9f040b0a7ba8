from dataclasses import dataclass, field
from enum import Enum
import bpy

class Kind(Enum):
    BOX = "box"
    BALL = "ball"

@dataclass
class Part:
    name: str
    kind: Kind
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    size: float = 1.0
    tags: list[str] = field(default_factory=list)

    def build(self):
        if self.kind is Kind.BOX:
            bpy.ops.mesh.primitive_cube_add(size=self.size, location=self.at)
        else:
            bpy.ops.mesh.primitive_uv_sphere_add(radius=self.size / 2, location=self.at, segments=16, ring_count=8)
        obj = bpy.context.object
        obj.name = self.name
        for t in self.tags:
            obj[t] = True
        return obj

parts = [Part("A", Kind.BOX, (3, 0, 0), tags=["hero"]), Part("B", Kind.BALL, (0, 3, 0), 0.5)]
built = [p.build() for p in parts]
# check: bpy.data.objects['A']['hero'] and bpy.data.objects['B'].type == 'MESH'
