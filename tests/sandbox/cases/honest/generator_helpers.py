import bpy, itertools, functools, operator
from collections import defaultdict, deque, namedtuple
Point = namedtuple("Point", "x y")

def spiral(n):
    x = y = 0
    dx, dy = 0, -1
    for _ in range(n):
        yield Point(x, y)
        if x == y or (x < 0 and x == -y) or (x > 0 and x == 1 - y):
            dx, dy = -dy, dx
        x, y = x + dx, y + dy

@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

for i, p in enumerate(itertools.islice(spiral(1000), 9)):
    e = bpy.data.objects.new(f"S{i}", None)
    e.location = (p.x, p.y, fib(i) * 0.1)
    bpy.context.collection.objects.link(e)
pairs = list(itertools.product("AB", [1, 2]))
total = functools.reduce(operator.add, range(10))
by = defaultdict(list)
for k, v in pairs:
    by[k].append(v)
q = deque([1, 2, 3], maxlen=2)
# check: 'S8' in bpy.data.objects and g['total'] == 45 and g['by']['A'] == [1, 2]
