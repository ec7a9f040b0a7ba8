# SPDX-License-Identifier: GPL-3.0-or-later
"""The transformer: honest syntax means what Python means by it; what is refused says where, why and what to do."""

from __future__ import annotations

import contextlib
import io
import textwrap

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.language.analysis.reached import Reached
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import ScriptRefused, compile_script

from support.sandboxing.language import refusal, run

SYNTAX = {
    "augmented assignment to an attribute": """
        class A: n = 1
        a = A()
        a.n += 4; a.n *= 3; a.n -= 1; a.n **= 2; a.n //= 5; a.n %= 23; a.n <<= 2; a.n |= 1
        print(a.n)
    """,
    "augmented assignment evaluates the target once": """
        calls = []
        class A: n = 1
        a = A()
        def get(name):
            calls.append(name)
            return a
        get('x').n += 1
        get('y').n += calls.count('y')
        items = [1, 2, 3]
        def index():
            calls.append('i')
            return 1
        items[index()] += 10
        items[index()] *= items[0]
        print(a.n, items, calls)
    """,
    "augmented assignment reads before it evaluates the value": """
        class A:
            n = 1
            def bump(self):
                self.n = 100
                return 5
        a = A()
        a.n += a.bump()
        d = {'k': 1}
        def change():
            d['k'] = 50
            return 2
        d['k'] += change()
        print(a.n, d)
    """,
    "several targets, each set in its turn": """
        class A: pass
        a, items, table = A(), [0, 1, 2], {}
        def key(name):
            print(name, len(items))
            return name
        a.x, items[0] = items[1], 7
        (a.y, [table[key('p')], *a.rest]), z = (1, (2, 3, 4)), 5
        a.x, items[1] = items[1], a.x
        b = a.z = table['q'] = [6]
        for a.i, items[2] in enumerate('ab'): pass
        from contextlib import nullcontext
        with nullcontext(1) as a.c, nullcontext(2) as d, nullcontext(3) as table[key('r')]: print(a.c, d)
        print(a.x, a.y, a.rest, z, a.z is b, a.i, items, table)
        try: a.x, items[0] = 1, 2, 3
        except ValueError as error: print(error)
        try: a, b = iter([1, 2, 3])
        except ValueError as error: print(error)
        def counted():
            n = 0
            while True:
                n += 1
                yield n
        try: a, b = counted()
        except ValueError as error: print(error)
        a, *b = (x for x in 'abc'); c = d, e = iter((1, 2))
        print(a, b, list(c), d, e, [x + y for x, (y, z) in [(1, iter((2, 3)))] if z], {k: v for k, v in [iter('kv')]})
        for i, (x, [y]) in enumerate([(1, [2])]): print(i, x, y)
        with nullcontext(map(str, (1, 2))) as (x, y): print(x + y)
    """,
    "displays and calls in which each part runs something": """
        log = []
        def f(x):
            log.append(x)
            return x
        def g(*a, **k): return a, k
        more = {'m': 1}
        print(g(f(1), *[f(2)], f(3), k=f(4), **more, l=f(5)), {f(6): f(7), **more, f(8): f(9)}, {f(10), f(11)})
        print(f([12])[f(0):f(1)], {f(i): f(str(i)) for i in range(2)}, g(more.get(f('m'), f(13))), f(14) + f(15))
        print((lambda a=f(16), *, b=f(17): (a, b))(), f(1) < f(2) < f(3), log)
    """,
    "augmented assignment in place": """
        class A: pass
        a = A(); a.items = [1]; alias = a.items
        a.items += [2]
        extra = [3]
        a.items += extra
        alias *= 2
        s = {1}; t = s; s |= {2}
        print(a.items, alias is a.items, t)
    """,
    "slices": """
        items = list(range(10))
        items[2:4] = ['a']; items[::2] = items[::2]; del items[-1]; del items[0:2]
        items[1:2] += [7]
        print(items, items[::-1], 'text'[1:3], (1, 2, 3)[:2])
    """,
    "annotations": """
        x: int = 1
        y: 'Missing'
        def f(a: Missing, *b: Missing, c: Missing = 2) -> Missing:
            z: Missing = a
            return z + c
        print(x, f(1))
    """,
    "an annotation makes a local": """
        x = 'global'
        def f():
            x: int
            try:
                return x
            except UnboundLocalError:
                return 'unbound'
        print(f())
    """,
    "nonlocal and global": """
        total = 0
        def make():
            n = 0
            def step():
                nonlocal n
                global total
                n += 1; total += n
                return n
            return step
        step = make(); step(); step()
        print(step(), total)
    """,
    "match": """
        def what(v):
            match v:
                case 0 | 1: return 'bit'
                case int(n) if n < 0: return f'negative {n}'
                case str() as s: return s.upper()
                case [a, [b, *rest]]: return (a, b, rest)
                case {'kind': 'cube', 'size': size, **other}: return (size, other)
                case (float() | int()) as n: return n * 2
                case None: return 'none'
                case _: return 'else'
        print([what(v) for v in (1, -3, 'a', [1, [2, 3, 4]], {'kind': 'cube', 'size': 2, 'x': 1}, 2.5, 7, None, set())])
    """,
    "match on dotted values": """
        from enum import Enum
        class Colour(Enum):
            RED = 1
            BLUE = 2
            GREEN = 3
        def name(c):
            match c:
                case Colour.RED: return 'r'
                case Colour.BLUE | Colour.GREEN if c is not Colour.BLUE: return 'g'
                case [Colour.RED, x]: return x
            return '?'
        print(name(Colour.RED), name(Colour.GREEN), name(Colour.BLUE), name([Colour.RED, 5]))
    """,
    "underscore names": """
        _private = 1
        class A:
            def __init__(self):
                self._x = 2
                self.__y = 3
            def total(self): return self._x + self.__y + _private
        _ = [0 for _ in range(3)]
        print(A().total(), _)
    """,
    "main guard": """
        def main(): print('ran')
        if __name__ == '__main__':
            main()
    """,
    "classes": """
        class Base:
            count = 0
            def __init__(self, name='b'):
                self.name = name
                Base.count += 1
            def __repr__(self): return f'<{type(self).__name__} {self.name}>'
            @property
            def loud(self): return self.name.upper()
            @loud.setter
            def loud(self, value): self.name = value.lower()
            @classmethod
            def make(cls, *a): return cls(*a)
            @staticmethod
            def double(x): return x * 2
        class Child(Base):
            def __init__(self, *a, **k):
                super().__init__(*a, **k)
                self.extra = [1]
            def __len__(self): return len(self.extra)
            def __getitem__(self, i): return self.extra[i]
            def __setitem__(self, i, v): self.extra[i] = v
            def __iter__(self): return iter(self.extra)
            def __contains__(self, x): return x in self.extra
            def __eq__(self, other): return self.name == other.name
            def __hash__(self): return hash(self.name)
            def __lt__(self, other): return self.name < other.name
            def __add__(self, other): return Child(self.name + other.name)
            def __call__(self, x): return x + 1
            def __bool__(self): return bool(self.extra)
            def __enter__(self): return self
            def __exit__(self, *error): return True
        c = Child.make('x')
        c.loud = 'ABC'; c[0] = 9
        with c as same: raise ValueError('swallowed')
        print(c, c.loud, len(c), c[0], list(c), 9 in c, c == Child('abc'), {c: 1}[c], sorted([Child('b'), Child('a')]),
              c + c, c(1), bool(c), Child.double(4), Base.count, c.__class__.__name__, isinstance(c, Base))
    """,
    "dataclasses": """
        from dataclasses import dataclass, field, asdict, replace
        @dataclass(order=True)
        class P:
            x: float
            y: float = 0.0
            tags: list = field(default_factory=list)
            def __post_init__(self): self.tags.append('made')
        @dataclass(frozen=True, slots=True)
        class Q:
            n: int = 1
        a = P(1, 2)
        a.x += 1
        try:
            Q().n = 3
        except AttributeError as error:
            print(type(error).__name__)
        print(a, asdict(a), replace(a, y=9).y, P(1) < P(2), Q(4))
    """,
    "enum": """
        from enum import Enum, IntEnum, Flag, auto
        class Kind(str, Enum):
            A = 'a'
            B = 'b'
        class N(IntEnum):
            ONE = auto()
            TWO = auto()
        class F(Flag):
            X = auto()
            Y = auto()
        print(Kind('a').name, [k.value for k in Kind], N.TWO + 1, F.X | F.Y, Kind.A == 'a', Kind['B'], len(Kind))
    """,
    "comprehensions and generators": """
        def walk(n):
            received = yield n
            while n:
                n -= 1
                received = yield (n, received)
        g = walk(2)
        pairs = [(x, y) for x in range(3) if x for y in 'ab']
        table = {k: v for k, v in zip('abc', range(3))}
        def chain(*parts):
            for part in parts:
                yield from part
        print(next(g), g.send('s'), list(chain('ab', [1])), pairs, table, {x % 3 for x in range(9)},
              sum(x * x for x in range(5)), [y := 5, y ** 2], [[c for c in r] for r in ('ab', 'cd')])
    """,
    "lambdas, defaults and star-arguments": """
        def f(a, /, b=2, *args, c, d=4, **named): return (a, b, args, c, d, named)
        twice = lambda x, *, k=2: x * k
        print(f(1, c=3), f(*[1, 2, 3], **{'c': 4, 'e': 5}), twice(4), (lambda *a, **k: (a, k))(1, z=2))
    """,
    "decorators": """
        import functools
        def loud(prefix):
            def wrap(f):
                @functools.wraps(f)
                def inner(*a): return prefix + f(*a)
                return inner
            return wrap
        @loud('>>')
        def name(x): return x
        @functools.lru_cache(maxsize=None)
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        print(name('a'), name.__name__, fib(30))
    """,
    "text": """
        x, name, items = 3.14159, 'cube', [1, 'a']
        width = 8
        print(f'{x:.2f}|{name:>{width}}|{name!r:^8}|{items}|{x=:.1f}|{1000000:,}|{255:#x}|{name[:2]}')
        print("{:>6}|{:.1f}|{n[0]}".format("a", 2.0, n=items), "{1}{0}".format(1, 2))
        print('%s-%05.1f-%r-%%' % ('a', 2.5, 'b'), '%(a)d' % {'a': 3}, '{a}'.format_map({'a': 1}))
    """,
    "errors": """
        def f(n):
            try:
                if n == 0: raise ValueError('zero')
                if n == 1: {}['k']
                if n == 2: return 'returned'
            except ValueError as error:
                return f'value {error} {error.args}'
            except (KeyError, IndexError) as error:
                return type(error).__name__
            else:
                return 'else'
            finally:
                print('finally', n)
        class Own(Exception):
            def __init__(self, code):
                super().__init__(f'code {code}')
                self.code = code
        try:
            try:
                raise Own(4) from KeyError('x')
            except:
                raise
        except Own as own:
            print(own, own.code)
        print([f(n) for n in range(4)])
        assert True, 'fine'
    """,
    "unpacking": """
        a, (b, *c), [d] = 1, (2, 3, 4), [5]
        class O: pass
        o = O(); items = [0, 0]
        o.x, items[0], (o.y, items[1]) = 1, 2, (3, 4)
        for o.z, items[0] in [(7, 8)]: pass
        first, *rest = 'abc'
        print(a, b, c, d, o.x, o.y, o.z, items, first, rest, [*rest, *items], {**{'k': 1}, 'l': 2}, (*rest,))
    """,
    "chained comparison and conditions": """
        n = []
        def v(x):
            n.append(x)
            return x
        print(v(1) < v(2) < v(0) < v(9), n, 1 if v(3) else 2, not n, 3 in n and 4 not in n, None is None, v(0) or v(5))
    """,
    "loops": """
        out = []
        for i in range(10):
            if i == 2: continue
            if i == 5: break
            out.append(i)
        else:
            out.append('never')
        while True:
            out.append('w')
            if len(out) > 6: break
        for a, b in zip('ab', enumerate('cd')): out.append((a, b))
        for k, v in {'x': 1}.items(): out.append(k)
        for r in reversed([1, 2]): out.append(r)
        for m in map(str, [1]): out.append(m)
        print(out)
    """,
    "long ways inside comprehensions": """
        class N:
            def __init__(self, n): self.n, self.next = n, None
            def up(self): return self.n + 1
        def chain(*numbers):
            first = last = N(numbers[0])
            for n in numbers[1:]: last.next = N(n); last = last.next
            return first
        items = [chain(1, 2, 3), chain(5, 6, 7)]
        print([i.next.next.n for i in items], {i.next.n: i.next.next.up() for i in items})
        print([x.n for x in sorted(items, key=lambda i: -i.next.next.n) if x.next.n * x.n < 40 < x.next.n * 20])
        class Of:
            all = [i.next.n for i in items]
            def more(self): return [[a.next.n + b.next.n for b in items if b.next.next.n > a.next.n] for a in items]
        print(Of.all, Of().more())
        def late():
            return [(i.next.n, f()) for i in items for f in [lambda: i.next.next.n]], sum(i.next.up() for i in items)
        print(late(), (lambda: [i.next.n for i in items])(), any(i.next.n == 6 for i in items))
        def two():
            walk = lambda: (i.next.n for i in items)
            return [(a, b) for a, b in zip(walk(), walk())]
        print(two())
    """,
    "classes with special tuples": """
        from typing import NamedTuple
        from collections import namedtuple
        class P(NamedTuple):
            x: float
            y: float = 2.0
            def total(self): return self.x + self.y
        Q = namedtuple('Q', 'a b')
        print(P(1), P(1).total(), P(1)._replace(y=5), Q(1, 2)._asdict(), Q._fields, Q(3, 4).b)
    """,
}


def plain(source: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "<plain>", "exec"), {"__name__": "__main__"})
    return out.getvalue()


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("name", SYNTAX)
def test_honest_syntax_means_what_it_means(name: str) -> None:
    source = textwrap.dedent(SYNTAX[name])
    assert run(source).output == plain(source)


REFUSED = [
    ("async def f(): pass", "syntax", 1, "async code is not supported"),
    ("x = 1\nasync with a: pass", "syntax", 2, "async code is not supported"),
    ("try:\n    pass\nexcept* ValueError:\n    pass", "syntax", 1, "except* is not supported"),
    ("eval('1')", "name", 1, "write the expression in the script itself"),
    ("@exec\ndef f(): pass", "name", 1, "'exec' is not available"),
    ("__builtins__", "name", 1, "'__builtins__' is not available"),
    ("x = ().__class__.__bases__", "attribute", 1, "'__bases__' is not available"),
    ("def f(): pass\nf.__code__", "attribute", 2, "'__code__' is not available"),
    ("(i for i in ()).gi_frame", "attribute", 1, "frames, code objects and tracebacks"),
    ("e.with_traceback(None)", "attribute", 1, "frames, code objects and tracebacks"),
    ("from os import _exit", "import", 1, "leading underscore"),
    ("def f():\n    from math import *", "import", 2, "name what you need"),
    ("__file__ = 1", "name", 1, "'__file__' cannot be bound"),
    ("__loader__", "name", 1, "'__loader__' is not available"),
    ("x.__file__", "attribute", 1, "a script has no files"),
    ("class A(metaclass=type): pass", "syntax", 1, "class keyword 'metaclass'"),
    ("class A(x=1): pass", "syntax", 1, "class keyword 'x'"),
    ("class A:\n    def __getattr__(self, n): pass", "name", 2, "may not define '__getattr__'"),
    ("class A:\n    def __del__(self): pass", "name", 2, "may not define '__del__'"),
    ("class A:\n    def __init_subclass__(cls): pass", "name", 2, "may not define '__init_subclass__'"),
    ("class A:\n    __class__ = int", "name", 2, "'__class__' cannot be bound"),
    ("super", "name", 1, "super() or super(Class, self)"),
    ("match x:\n    case P(a=1): pass", "syntax", 2, "look into an object"),
    ("match x:\n    case {k.y: 1}: pass", "syntax", 2, "only literal keys"),
    ("a.__dict__['x'] = 1", "attribute", 1, "use vars(value)"),
    ("x = (", "syntax", 1, "not valid Python"),
    ("x = 'a\0b'", "syntax", 1, "not valid Python"),
]


@pytest.mark.parametrize(("source", "code", "line", "text"), REFUSED)
def test_what_is_refused_says_where_and_what_to_do(source: str, code: str, line: int, text: str) -> None:
    with pytest.raises(ScriptRefused) as caught:
        compile_script(source)
    finding = caught.value.findings[0]
    assert (finding.code, finding.line) == (code, line)
    assert text in str(caught.value)
    assert caught.value.line == line
    assert caught.value.code == code


def test_every_finding_is_told_in_the_order_of_the_source() -> None:
    with pytest.raises(ScriptRefused) as caught:
        compile_script("a = 1\nb = eval('1')\nc = a.__globals__\n")
    assert [(each.line, each.column) for each in caught.value.findings] == [(2, 5), (3, 5)]
    assert caught.value.findings[1].source == "c = a.__globals__"
    assert str(caught.value) == "\n".join(map(str, caught.value.findings))
    with pytest.raises(ScriptRefused, match=r"\(and 5 more\)"):
        compile_script("eval('1')\n" * 25)


BINDINGS = [
    "{} = 1",
    "{}: int = 1",
    "{} += 1",
    "del {}",
    "for {} in (): pass",
    "[0 for {} in ()]",
    "({} := 1)",
    "[({} := 1) for x in ()]",
    "with a as {}: pass",
    "import math as {}",
    "from math import sin as {}",
    "try: pass\nexcept ValueError as {}: pass",
    "def {}(): pass",
    "class {}: pass",
    "def f({}): pass",
    "def f({}, /): pass",
    "def f(*, {}=1): pass",
    "def f(*{}): pass",
    "def f(**{}): pass",
    "lambda {}: 0",
    "lambda {}, /: 0",
    "lambda *{}: 0",
    "def f():\n    global {}",
    "def f():\n    x = 1\n    def g():\n        nonlocal {}",
    "match 1:\n    case {}: pass",
    "match 1:\n    case [*{}]: pass",
    "match 1:\n    case {{**{}}}: pass",
    "match 1:\n    case int() as {}: pass",
    "a, *{} = 1, 2",
    "[a, ({}, b)] = x",
]
HOOKS = [
    "_getattr_",
    "_write_",
    "_getitem_",
    "_getiter_",
    "_apply_",
    "_inplacevar_",
    "_print_",
    "__metaclass__",
    "_tmp0",
]


@pytest.mark.parametrize("form", BINDINGS)
@pytest.mark.parametrize("hook", HOOKS)
def test_no_form_binds_a_hook(form: str, hook: str) -> None:
    with pytest.raises((ScriptRefused, PolicyError)):
        compile_script(form.format(hook))


def test_guards_have_names_that_no_source_can_say() -> None:
    names = run("x = 1").names
    guards = [name for name in names if name.startswith("<")]
    assert len(guards) > 30
    assert not any(name.isidentifier() for name in guards)


@pytest.mark.parametrize(
    "source",
    [
        "(" * 5000 + ")" * 5000,
        "-" * 100_000 + "1",
        "x = " + "+".join("a" for _ in range(20_000)),
        "a" + ".b" * 20_000,
        "a" + "[0]" * 20_000,
        "not " * 20_000 + "x",
        "lambda: " * 5000 + "0",
    ],
)
def test_deep_source_is_refused_and_not_the_end_of_the_process(source: str) -> None:
    with pytest.raises(ScriptRefused) as caught:
        compile_script(source)
    assert caught.value.code in ("size", "syntax")


def test_long_source_is_refused() -> None:
    with pytest.raises(ScriptRefused, match="1,001 characters; 1,000 are allowed"):
        compile_script("#" * 1001, source_limit=1000)


def test_long_but_flat_source_is_fine() -> None:
    source = "x = 0\n" + "x += 1\n" * 2000 + "if x == 1: pass\n" + "elif x == 2: pass\n" * 60
    assert run(source)["x"] == 2000


def test_imports_are_known() -> None:
    compiled = compile_script("import bpy.ops as o, math\ndef f():\n    from mathutils import Vector")
    assert [(each.module, each.member, each.line) for each in compiled.imports] == [
        ("bpy.ops", None, 1),
        ("math", None, 1),
        ("mathutils", "Vector", 3),
    ]


def test_mangled_names_cannot_become_hooks() -> None:
    assert run("class A:\n    __x = 1\n    def f(self): return self.__x\nresult = A().f()")["result"] == 1
    assert "cannot be bound" in str(refusal("class getattr_:\n    _getattr_ = 1"))


def test_a_script_that_was_validated_is_not_compiled_again() -> None:
    text = "a = 1\nb = a + 1"
    compiled = compile_script(text)
    assert compile_script(text) is compiled
    assert compile_script(text, reached=Reached()) is not compiled
    with pytest.raises(ScriptRefused):
        compile_script(text, source_limit=3)
