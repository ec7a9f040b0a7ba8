# SPDX-License-Identifier: GPL-3.0-or-later
"""What only the interpreter's stack, or C code, holds while more of the script runs is cut off as all else."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

#: `P()` gives an object, `free()` removes it, `use` uses a collection of it.
_BEFORE = """
import bisect, contextlib, functools, heapq, itertools, bmesh
bpy.ops.mesh.primitive_cube_add()
bpy.context.object.name = 'P'
for i in range(3):
    bpy.context.object.modifiers.new('m%d' % i, 'BEVEL')
def P(): return bpy.data.objects['P']
def free(*_ignored):
    if 'P' in bpy.data.objects:
        bpy.data.objects.remove(P())
    return 1
def use(c, *_more, **_named): return (len(c), c[0].name, c[0].width)
def once(*values): yield from values
"""

_EVIL = """
class Evil:
    def __init__(self, n=0): self.n = n
    def __hash__(self): return 1
    def __eq__(self, other):
        del other
        return not free()
    def __lt__(self, other):
        del other
        return not free()
    def __add__(self, other): return free()
    def __bool__(self): return bool(free())
    def __enter__(self): return 1
    def __exit__(self, *_why): free()
    def __setitem__(self, key, value): free()
    @property
    def a(self): return free()
    @a.setter
    def a(self, value): free()
    @property
    def b(self):
        free()
        raise AttributeError('b')
evil = Evil()
"""

#: Where the collection lies, by the form of Python that keeps it there. In each, it is gone when it is used.
_PLAIN = {
    "argument": "result = use(P().modifiers, free())",
    "keyword": "result = use(c=P().modifiers, b=free())",
    "tuple": "result = use((P().modifiers, free())[0])",
    "list": "result = use([P().modifiers, free()][0])",
    "dict": "result = use({1: P().modifiers, 2: free()}[1])",
    "dict as an argument": "def u(d, _x): return use(d[1])\nresult = u({1: P().modifiers}, free())",
    "dict that is unpacked": "result = use({1: P().modifiers, **{}, 2: free()}[1])",
    "dict that is emptied": "x = {1: P().modifiers}\nresult = use({**x, 2: (x.clear(), free())}[1])",
    "keywords that are emptied": "x = {'c': P().modifiers}\nresult = use(**x, b=(x.clear(), free()))",
    "dict comprehension": "result = use({i: (free() if i else P().modifiers) for i in range(2)}[0])",
    "index": "result = P().modifiers[free() - 1].name",
    "index of an array": "result = P().lock_location[free()]",
    "index that is set": "P().lock_location[free()] = True",
    "index that is changed": "P().lock_location[0] += len([free()])",
    "argument of a method": "result = P().modifiers.new(name='x', type=free() and 'BEVEL').name",
    "argument of a function of Blender's": "P().select_set(bool(free()))",
    "left of an operator": "P().modifiers == P().modifiers[free():]",
    "returned through finally": "def f():\n    try: return P().modifiers\n    finally: free()\nresult = use(f())",
    "default of a parameter": "result = (lambda a=P().modifiers, b=free(): use(a))()",
    "subject of match": "match P().modifiers:\n    case _ if free() > 5: pass\n    case y: result = use(y)",
    "value, while its place is found": "h = {}\nh[free()] = P().modifiers\nresult = use(h[1])",
    "loop's variable": "h = {}\nfor h[free()] in once(P().modifiers): pass\nresult = use(h[1])",
    "variable of with": "h = {}\nwith contextlib.nullcontext(P().modifiers) as h[free()]: pass\nresult = use(h[1])",
    "variable of another function": (
        "x = P().modifiers\ndef drop():\n    global x\n    x = free()\nresult = use(x, drop())"
    ),
    "variable of a function around": (
        "def f():\n    x = P().modifiers\n    def drop():\n        nonlocal x\n        x = free()\n"
        "    return use(x, drop())\nresult = f()"
    ),
    "variable that is bound within": "x = P().modifiers\nresult = use(x, (x := None), free())",
    "variable of a generator that goes on": (
        "def f():\n    x = P().modifiers\n    yield lambda: use(x, next(going))\n    x = free()\n    yield\n"
        "going = f()\nresult = next(going)()"
    ),
    "sent to a generator": "def g(): result = use((P().modifiers, (yield 1))[0])\ni = g()\nnext(i)\nfree()\nnext(i)",
    "generator expression": (
        "def f():\n    def one(i): return ((P().modifiers, next(i))[0] for _ in range(1))\n"
        "    return use(next(one(free() for _ in range(1))))\nresult = f()"
    ),
    "unpacked": "a, _ = (free() if i else P().modifiers for i in (0, 1))\nresult = use(a)",
    "unpacked, nested": "_, (a, b) = 1, (free() if i else P().modifiers for i in (0, 1))\nresult = use(a)",
    "unpacked into a list": "a, *b = (free() if i else P().modifiers for i in (0, 1))\nresult = use(a)",
    "unpacked by a loop": "for a, _ in [(free() if i else P().modifiers for i in (0, 1))]: result = use(a)",
    "unpacked from a map": "a, _ = map(lambda i: free() if i else P().modifiers, (0, 1))\nresult = use(a)",
    "unpacked by a comprehension": (
        "def f(): return [use(a) for a, _ in [(free() if i else P().modifiers for i in (0, 1))]]\nresult = f()"
    ),
    "unpacked by a comprehension, nested": (
        "result = [use(a) for _, (a, _) in [(1, (free() if i else P().modifiers for i in (0, 1)))]]"
    ),
    "unpacked by with": (
        "with contextlib.nullcontext((free() if i else P().modifiers for i in (0, 1))) as (a, _): result = use(a)"
    ),
    "popped": "l = [P().modifiers]\nresult = use(l.pop(), free())",
    "variable of a comprehension": "result = [use(x) for x in once(P().modifiers) if free()]",
    "variables of a comprehension": "result = {use(x): 1 for _, [x] in once((1, once(P().modifiers))) if free()}",
    "variable of a comprehension in a class": "class A:\n    x = [use(x) for x in once(P().modifiers) if free()]",
    "variable of a comprehension over what is emptied": (
        "l = [P().modifiers]\nresult = [use(x) for x in l if (l.clear(), free())]"
    ),
    "class body": "class A:\n    x = use(P().modifiers, free())",
    "what a loop draws from": "for x in use(P().modifiers, free()): pass",
    "what a comprehension draws from": "result = [x for x in use(P().modifiers, free())]",
    "default of next": "result = use(next((x for x in () if free()), P().modifiers), free())",
    "default of next, by a generator": (
        "def g():\n    free()\n    return\n    yield\nresult = use(next(g(), P().modifiers))"
    ),
    "default of max": "def g():\n    free()\n    return\n    yield\nresult = use(max(g(), default=P().modifiers))",
    "sort": "l = [P().modifiers, 1]\nl.sort(key=free)\nresult = use(l[0])",
    "sorted": "result = use(sorted(once(P().modifiers, 2), key=free)[0])",
    "max": "result = use(max((P().modifiers if i else free() for i in (1, 0)), key=lambda _: 1))",
    "reduce": (
        "def g():\n    yield 1\n    yield 2\n    yield free() + 2\n"
        "result = functools.reduce(lambda a, b: use(a) if b == 3 else P().modifiers, g())"
    ),
    "reduce, the first": (
        "def g():\n    yield P().modifiers\n    yield free()\n"
        "result = functools.reduce(lambda a, _: use(a), g())"
    ),
    "map of two": "result = list(map(lambda a, _: use(a), once(P().modifiers), (free() for _ in (1,))))",
    "loop over map of two": "for x in map(lambda a, _: use(a), once(P().modifiers), (free() for _ in (1,))): pass",
    "zip": "for a, b in zip(once(P().modifiers), (free() for _ in (1,))): result = use(a)",
    "filter": "def f(c):\n    del c\n    return free()\nresult = [use(x) for x in filter(f, once(P().modifiers))]",
    "groupby": (
        "def f(c):\n    del c\n    return free()\n"
        "result = [use(x) for _, g in itertools.groupby(once(P().modifiers), f) for x in g]"
    ),
    "vertices": "result = len((P().data.vertices, bpy.data.meshes.remove(P().data))[0])",
    "sequence of a BMesh": (
        "bm = bmesh.new()\nbmesh.ops.create_cube(bm)\nresult = len((bm.verts, bm.free())[0])"
    ),
}
#: The same by what a script's own classes do.
_BY_CLASSES = {
    "left of an addition": "result = use((P().modifiers, evil + 1)[0])",
    "left of a comparison": "result = use((P().modifiers, evil == 1)[0])",
    "left of a test": "result = use((P().modifiers, 1 if evil else 2)[0])",
    "before and": "result = use((P().modifiers, evil and 1)[0])",
    "before not": "result = use((P().modifiers, not evil)[0])",
    "before a member": "result = use((P().modifiers, evil.a)[0])",
    "returned through with": "def f():\n    with evil: return P().modifiers\nresult = use(f())",
    "set after an item": "evil[0], y = once(1, P().modifiers)\nresult = use(y)",
    "set after a member": "evil.a, y = once(1, P().modifiers)\nresult = use(y)",
    "set after a member, by =": "evil.a = y = P().modifiers\nresult = use(y)",
    "sort": "l = [P().modifiers, 1]\nl.sort(key=lambda _: evil)\nl.sort(key=lambda _: Evil())\nresult = use(l[0])",
    "until a value comes": "for x in iter(lambda: P().modifiers, evil): result = use(x)",
    "pushed on a heap": "result = use(heapq.heappushpop([evil], P().modifiers))",
    "default of get": "result = use({Evil(1): 1}.get(Evil(2), P().modifiers))",
    "default of getattr": "result = use(getattr(evil, 'b', P().modifiers))",
    "default of setdefault": "d = {Evil(1): 1}\nresult = use(d.setdefault(Evil(2), P().modifiers))",
}


def _used(script: str) -> str:
    def run() -> str:
        fork.overwrite_freed()
        try:
            result(_BEFORE + script)
        except PolicyError:
            return "stopped"
        except HandlerError as error:
            return type(error.original).__name__
        return "let through"

    return fork.run(run)


@pytest.mark.parametrize("form", _PLAIN)
def test_what_lies_on_the_stack_says_that_it_is_gone(form: str) -> None:
    assert _used(_PLAIN[form]) in ("ReferenceError", "stopped")


@pytest.mark.parametrize("form", _BY_CLASSES)
def test_it_does_so_where_a_class_of_the_script_removes_it(form: str) -> None:
    assert _used(_EVIL + _BY_CLASSES[form]) in ("ReferenceError", "stopped")


def test_a_generator_that_is_let_go_of_ends_with_the_run_and_not_before() -> None:
    """Its `finally` would run while what is returned lies on the stack, or in the midst of Blender's own work."""
    script = (
        "done = []\ndef g():\n    try: yield 1\n    finally: done.append(free())\n"
        "def f():\n    i = g()\n    next(i)\n    return P().modifiers\n"
        "used = use(f())\ni = g()\nnext(i)\ni.close()\nresult = (used[0], len(done))"
    )
    assert fork.run(lambda: result(_BEFORE + script)) == [3, 1]


def test_a_script_may_make_many_generators_that_end() -> None:
    script = "def g():\n    try: yield 1\n    finally: pass\nresult = sum(sum(g()) for _ in range(20_000))"
    assert result(script) == 20_000
