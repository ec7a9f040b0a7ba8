import bpy
class Builder:
    count = 0
    def __init__(self, name, **options):
        self.name = name
        self.options = {"height": 1.0, **options}
        self._made = []
    def make(self):
        raise NotImplementedError
    def run(self):
        for obj in self.make():
            self._made.append(obj.name)
            Builder.count += 1
        return self
class Tower(Builder):
    def __init__(self, name, floors=3, **options):
        super().__init__(name, **options)
        self.floors = floors
    def make(self):
        h = self.options["height"]
        for i in range(self.floors):
            bpy.ops.mesh.primitive_cube_add(size=h, location=(5, 0, h * (i + 0.5)))
            bpy.context.object.name = f"{self.name}_{i}"
            yield bpy.context.object
tower = Tower("Tower", floors=4, height=0.8).run()
names = tower._made
# check: g['names'] == ['Tower_0', 'Tower_1', 'Tower_2', 'Tower_3'] and g['Builder'].count == 4
