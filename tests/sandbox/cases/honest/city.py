import bpy, bmesh, random, math
from mathutils import Vector, Matrix
rng = random.Random(3)
coll = bpy.data.collections.get("City") or bpy.data.collections.new("City")
if coll.name not in bpy.context.scene.collection.children:
    bpy.context.scene.collection.children.link(coll)
class Block:
    __count = 0
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.__built = False
        Block.__count += 1
    def __height(self):
        d = math.hypot(self.x, self.y)
        return max(1.0, 12.0 * math.exp(-d / 20) + rng.gauss(0, 1))
    def build(self):
        me = bpy.data.meshes.new(f"B_{self.x}_{self.y}")
        bm = bmesh.new()
        bmesh.ops.create_cube(bm, size=1.0)
        h = self.__height()
        bmesh.ops.scale(bm, vec=(3, 3, h), verts=bm.verts)
        bmesh.ops.translate(bm, vec=(0, 0, h / 2), verts=bm.verts)
        top = [f for f in bm.faces if f.normal.z > 0.9]
        r = bmesh.ops.inset_region(bm, faces=top, thickness=0.3)
        ret = bmesh.ops.extrude_face_region(bm, geom=top)
        vs = [v for v in ret["geom"] if isinstance(v, bmesh.types.BMVert)]
        bmesh.ops.translate(bm, vec=(0, 0, 0.5), verts=vs)
        bm.normal_update()
        bm.to_mesh(me); bm.free()
        ob = bpy.data.objects.new(me.name, me)
        ob.matrix_world = Matrix.Translation((self.x * 4, self.y * 4, 0)) @ Matrix.Rotation(rng.choice([0, math.pi / 2]), 4, "Z")
        coll.objects.link(ob)
        self.__built = True
        return ob
    @classmethod
    def count(cls):
        return cls.__count
blocks = [Block(x, y).build() for x in range(-4, 5) for y in range(-4, 5)]
result = (len(coll.objects), Block.count())
# check: g['result'] == (81, 81)
