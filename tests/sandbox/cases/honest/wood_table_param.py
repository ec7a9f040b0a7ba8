import bpy
from dataclasses import dataclass, field
from typing import Optional
@dataclass
class Leg:
    x: float
    y: float
    taper: float = 0.8
@dataclass
class Table:
    width: float = 1.6
    depth: float = 0.8
    height: float = 0.74
    legs: list[Leg] = field(default_factory=list)
    material: Optional[str] = None
    def __post_init__(self):
        if not self.legs:
            w, d = self.width / 2 - 0.05, self.depth / 2 - 0.05
            self.legs = [Leg(sx * w, sy * d) for sx in (-1, 1) for sy in (-1, 1)]
    def build(self):
        parts = []
        bpy.ops.mesh.primitive_cube_add(size=1, location=(0, 0, self.height))
        top = bpy.context.object; top.dimensions = (self.width, self.depth, 0.04); top.name = "Top"
        bpy.ops.object.transform_apply(scale=True); parts.append(top)
        b = top.modifiers.new("Bevel", "BEVEL"); b.width = 0.005; b.segments = 3; b.limit_method = "ANGLE"
        for leg in self.legs:
            bpy.ops.mesh.primitive_cylinder_add(vertices=16, radius=0.03, depth=self.height, location=(leg.x, leg.y, self.height / 2))
            parts.append(bpy.context.object)
        for p in parts[1:]:
            p.parent = top; p.matrix_parent_inverse = top.matrix_world.inverted()
        return parts
t = Table(material="oak")
parts = t.build()
result = {"parts": [p.name for p in parts], "table": t}
# check: len(g['parts']) == 5
