# Classes that behave like containers and numbers, used as Python uses them; Blender gets lists of theirs.
import functools
import itertools
import random
import statistics

import bpy
import bmesh


class Grid:
    def __init__(self, side):
        self.cells = [float(i) for i in range(side)]

    def __len__(self):
        return len(self.cells)

    def __iter__(self):
        return iter(self.cells)

    def __getitem__(self, index):
        return self.cells[index]

    def __setitem__(self, index, value):
        self.cells[index] = value


class Steps:
    def __init__(self):
        self.count = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        if self.count > 3:
            raise StopIteration
        return self.count


class Length:
    def __float__(self):
        return 2.5

    def __index__(self):
        return 2


class Path(list):
    def __getitem__(self, index):
        return list(self)[index]


class Wide(Grid):
    def __len__(self):
        return super().__len__() + 1

    def __getitem__(self, index):
        return -super().__getitem__(index)


class Counted(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, self.get(key, 0) + value)

    def __contains__(self, key):
        return super().__contains__(str(key))

    def __repr__(self):
        return "Counted" + super().__repr__()


wide = Wide(3)
assert (len(wide), wide[2]) == (4, -2.0)
counted = Counted()
counted["1"] = counted["1"] = 2
assert (1 in counted, 2 in counted, counted["1"], repr(counted)) == (True, False, 4, "Counted{'1': 4}")

grid = Grid(4)
grid[0] = 7.0
grid[1] += 3.0
first, *others = grid


def count(*values):
    return len(values)


assert (len(grid), list(grid), grid[-1], grid[1:3]) == (4, [7.0, 4.0, 2.0, 3.0], 3.0, [4.0, 2.0])
assert (sum(grid), max(grid), sorted(grid)[0], 4.0 in grid, bool(grid), any(grid)) == (16.0, 7.0, 2.0, True, True, True)
assert (count(*grid), [*grid], {*grid}, tuple(grid)[0], first, len(others)) == (4, grid.cells, set(grid), 7.0, 7.0, 3)
assert [a for a, b in zip(grid, Steps())] == [7.0, 4.0, 2.0]
assert (list(Steps()), [step for step in Steps()], sum(Steps()), dict(enumerate(Steps()))[2]) == ([1, 2, 3], [1, 2, 3], 6, 3)
assert (float(Length()), round(1.2345, Length()), len(range(Length())), hex(Length())) == (2.5, 1.23, 2, "0x2")
assert random.choice(grid) in grid and statistics.mean(grid) == 4.0
assert list(itertools.islice(grid, 2)) == [7.0, 4.0] and functools.reduce(lambda a, b: a + b, grid) == 16.0
path = Path([1.0, 2.0, 3.0])
assert (path[1], path[1:], len(path), path[-1]) == (2.0, [2.0, 3.0], 3, 3.0)
if grid and not Grid(0):
    while len(grid) > 3:
        grid.cells.pop()

cube = bpy.context.object
cube.location = list(grid)
cube["path"] = list(path)
cube.data.vertices.foreach_set("co", [float(x) for x in itertools.islice(itertools.cycle(grid), 24)])
bm = bmesh.new()
corners = (bm.verts.new((x, y, 0)) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))
bm.faces.new(corners)
bm.verts.sort(key=lambda vert: -vert.co.x)
mesh = bpy.data.meshes.new("Sorted")
bm.to_mesh(mesh)
bm.free()
# check: tuple(bpy.context.object.location) == (7.0, 4.0, 2.0) and [round(v.co.x) for v in bpy.data.meshes["Sorted"].vertices] == [1, 1, 0, 0]
