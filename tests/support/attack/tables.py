# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables that attacks combine: a special name, a way to make it, a place for it, C code that asks, an effect.

A script binds `T`, the place; a way turns it into `X`, whose special names lead to `E`; then comes code that asks `X`
for them. `E(name, *values)` counts its calls, has its effect in one of them, and otherwise answers as the name should.

In ways, a line with `@NAME@` is repeated for each of the script's names, and `@BASE@` is a class of the place's kind.
`@CANARY@`, `@SECRET@`, `@VICTIM@` and `@PORT@` are places of this machine, as in `sandbox_cases`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ("ANSWERS", "ASKS", "EFFECTS", "PLACES", "WAYS", "Ask", "Place")


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a special name: an expression that makes it, and a class whose instances are of its kind."""

    make: str
    base: str = "object"


@dataclass(frozen=True, slots=True)
class Ask:
    """An expression or statement that makes C code use `X`, and the special names that it asks for."""

    code: str
    names: str


ANSWERS: Final[dict[str, str]] = {
    "__len__": "3",
    "__length_hint__": "3",
    "__iter__": "iter([1.0, 2.0, 3.0])",
    "__next__": "1.0",
    "__getitem__": "float(a[-1]) if a and a[-1] in (0, 1, 2) else STOP()",
    "__setitem__": "None",
    "__delitem__": "None",
    "__contains__": "True",
    "__missing__": "1",
    "__index__": "2",
    "__int__": "2",
    "__float__": "2.0",
    "__complex__": "2j",
    "__bool__": "True",
    "__hash__": "7",
    "__eq__": "True",
    "__lt__": "True",
    "__gt__": "False",
    "__add__": "1",
    "__radd__": "1",
    "__iadd__": "1",
    "__mul__": "1",
    "__rmul__": "1",
    "__matmul__": "1",
    "__rmatmul__": "1",
    "__round__": "1",
    "__trunc__": "1",
    "__str__": "'x'",
    "__repr__": "'x'",
    "__format__": "'x'",
    "__call__": "1",
    "__enter__": "1",
    "__exit__": "True",
    "__reversed__": "iter([1.0])",
    "__del__": "None",
    "__fspath__": "'x'",
    "__bytes__": "b'x'",
    "__buffer__": "b'x'",
    "__getattr__": "1",
    "__getattribute__": "1",
    "__setattr__": "None",
    "__get__": "1",
    "__set__": "None",
    "__set_name__": "None",
    "__init_subclass__": "None",
    "__class_getitem__": "1",
    "__instancecheck__": "True",
    "__subclasshook__": "True",
    "__mro_entries__": "()",
    "__prepare__": "{}",
    "__new__": "object()",
    "__reduce_ex__": "(E, ('@state',), (None, {'x': 1}))",
    "__reduce__": "(E, ('@state',), (None, {'x': 1}))",
    "__getstate__": "(None, {'x': 1})",
    "__setstate__": "None",
    "__getnewargs_ex__": "((), {})",
    "__copy__": "1",
    "__deepcopy__": "1",
    "__replace__": "1",
    "__array__": "1.0",
    "__array_interface__": "{'shape': (64,), 'typestr': '|u1', 'data': (16, True), 'version': 3}",
    "__array_struct__": "1",
    "__array_ufunc__": "1.0",
    "__array_function__": "1.0",
    "__array_priority__": "1.0",
    "__dlpack__": "1",
    "__dlpack_device__": "(1, 0)",
    "__class__": "dict",
    "__dict__": "{}",
    "__wrapped__": "len",
    "__traceback__": "None",
    "__annotations__": "{}",
    "__dataclass_fields__": "{}",
    "__match_args__": "('x',)",
    "__name__": "'x'",
    "__path__": "'x'",
    "bl_rna": "1",
    "as_pointer": "16",
    "keys": "['a', 'b']",
    "items": "[('a', 1)]",
    "write": "None",
    "random": "0.5",
    "_idname": "'wm.quit_blender'",
    "_fields": "('a',)",
    "_missing_": "1",
    "_generate_next_value_": "1",
}
"""Special names, and their answers without an effect; `a` are the arguments."""

PLACES: Final[dict[str, Place]] = {
    "own instance": Place("Own()", "Own"),
    "own list": Place("OwnList([1.0, 2.0, 3.0])", "list"),
    "own dict": Place("OwnDict(a=1)", "dict"),
    "own float": Place("OwnFloat(1.5)", "float"),
    "own tuple": Place("OwnTuple((1, 2, 3))", "tuple"),
    "own error": Place("OwnError('x')", "ValueError"),
    "own class": Place("Own", "Own"),
    "function": Place("lambda *a, **k: 1"),
    "method": Place("Own().method"),
    "generator": Place("(i for i in [1.0, 2.0, 3.0])"),
    "slots": Place("OwnSlots()", "OwnSlots"),
    "named tuple": Place("collections.namedtuple('Named', 'a b c')(1, 2, 3)", "tuple"),
    "dataclass": Place("Data(1, 2)", "Data"),
    "enum": Place("Kind.ONE", "enum.IntEnum"),
    "simple namespace": Place("types.SimpleNamespace(a=1)", "types.SimpleNamespace"),
    "argparse namespace": Place("argparse.Namespace(a=1)", "argparse.Namespace"),
    "partial": Place("functools.partial(len, [1])"),
    "default dict": Place("collections.defaultdict(lambda: 1)", "collections.defaultdict"),
    "ordered dict": Place("collections.OrderedDict(a=1)", "collections.OrderedDict"),
    "deque": Place("collections.deque([1.0, 2.0, 3.0])", "collections.deque"),
    "counter": Place("collections.Counter('abc')", "collections.Counter"),
    "random": Place("random.Random(1)", "random.Random"),
    "path": Place("pathlib.PurePath('a')", "pathlib.PurePath"),
    "fraction": Place("fractions.Fraction(1, 2)", "fractions.Fraction"),
    "module view": Place("math"),
    "library function": Place("colorsys.rgb_to_hsv"),
    "operator": Place("bpy.ops.object.select_all"),
    "object": Place("bpy.context.object", "bpy.types.Object"),
    "custom properties": Place("properties()"),
    "vector": Place("mathutils.Vector((1, 2, 3))", "mathutils.Vector"),
    "collection": Place("bpy.context.object.data.vertices"),
    "bmesh": Place("BM"),
    "array": Place("numpy.arange(3.0)", "numpy.ndarray"),
    "record array": Place("numpy.zeros(3, dtype=[('a', 'f8'), ('b', 'f8')])"),
    "byte array": Place("bytearray(b'abc')", "bytearray"),
    "text": Place("OwnText('abc')", "str"),
}
"""Places for a special name."""

WAYS: Final[dict[str, str]] = {
    "class body": "class C(@BASE@):\n    def @NAME@(self, *a, **k): return E('@NAME@', self, *a, **k)\nX = C()",
    "class body, of the place": (
        "class C(@BASE@):\n    def @NAME@(self, *a, **k): return E('@NAME@', self, *a, **k)\nX = C(T)"
    ),
    "class body, class": "class C(@BASE@):\n    def @NAME@(self, *a, **k): return E('@NAME@', self, *a, **k)\nX = C",
    "class body, two bases": (
        "class M:\n    def @NAME@(self, *a, **k): return E('@NAME@', self, *a, **k)\nclass C(M, @BASE@): pass\nX = C()"
    ),
    "class body, assigned": "class C(@BASE@):\n    @NAME@ = lambda self, *a, **k: E('@NAME@', self, *a)\nX = C()",
    "class body, static": (
        "class C(@BASE@):\n    @NAME@ = staticmethod(lambda *a, **k: E('@NAME@', *a, **k))\nX = C()"
    ),
    "class body, class method": (
        "class C(@BASE@):\n    @NAME@ = classmethod(lambda *a, **k: E('@NAME@', *a, **k))\nX = C()"
    ),
    "class body, property": "class C(@BASE@):\n    @NAME@ = property(lambda self: E('@NAME@', self))\nX = C()",
    "class body, generator": (
        "class C(@BASE@):\n    def @NAME@(self, *a, **k): yield E('@NAME@', self, *a, **k)\nX = C()"
    ),
    "class body, partial": ("class C(@BASE@):\n    @NAME@ = functools.partial(E, '@NAME@')\nX = C()"),
    "class body, partial method": (
        "class C(@BASE@):\n    @NAME@ = functools.partialmethod(E, '@NAME@')\nX = C()"
    ),
    "class body, cached": "class C(@BASE@):\n    @NAME@ = functools.cached_property(lambda s: E('@NAME@'))\nX = C()",
    "class body, builtin": "class C(@BASE@):\n    @NAME@ = bpy.ops.object.delete\nX = C()",
    "class body, decorated": (
        "def turned(f): return lambda *a, **k: E(f(), *a, **k)\n"
        "class C(@BASE@):\n    @NAME@ = turned(lambda: '@NAME@')\nX = C()"
    ),
    "class body, loop": "class C(@BASE@):\n    for @NAME@ in [lambda s, *a: E('@NAME@', s, *a)]: pass\nX = C()",
    "class body, walrus": "class C(@BASE@):\n    (@NAME@ := lambda s, *a: E('@NAME@', s, *a))\nX = C()",
    "class body, import": "class C(@BASE@):\n    from operator import add as @NAME@\nX = C()",
    "class body, nested": "class C(@BASE@):\n    class @NAME@:\n        def __init__(self, *a): E('x', *a)\nX = C()",
    "class body, with": "class C(@BASE@):\n    with Held() as @NAME@: pass\nX = C()",
    "class body, except": "class C(@BASE@):\n    try: 1 / 0\n    except Exception as @NAME@: pass\nX = C()",
    "class body, match": "class C(@BASE@):\n    match E:\n        case @NAME@: pass\nX = C()",
    "class body, annotated": "class C(@BASE@):\n    @NAME@: object = E\nX = C()",
    "class body, wide letters": "class C(@BASE@):\n    def @WIDE@(self, *a): return E('@NAME@', *a)\nX = C()",
    "class body, slots": "class C(@BASE@):\n    __slots__ = [@NAMES@]\nX = C()",
    "class body, slots by item": ("class C:\n    __slots__ = OwnList([@NAMES@])\nX = C()"),
    "setattr": "X = T\nsetattr(X, '@NAME@', lambda *a, **k: E('@NAME@', *a, **k))",
    "setattr on the class": "X = T\nsetattr(type(X), '@NAME@', lambda *a, **k: E('@NAME@', *a, **k))",
    "setattr, joined": "X = T\nsetattr(X, '_' + '@NAME@'[1:], lambda *a, **k: E('@NAME@', *a, **k))",
    "setattr, own text": "X = T\nsetattr(X, OwnText('@NAME@'), lambda *a, **k: E('@NAME@', *a, **k))",
    "setattr, lying text": "X = T\nsetattr(X, Lying('@NAME@'), lambda *a, **k: E('@NAME@', *a, **k))",
    "setattr, mapped": "X = T\nlist(map(setattr, [X] * 9, [@NAMES@], [E] * 9))",
    "setattr, partial": "X = T\nfunctools.partial(setattr, X)('@NAME@', E)",
    "delattr": "X = T\ndelattr(X, '@NAME@')",
    "assignment": "X = T\nX.@NAME@ = lambda *a, **k: E('@NAME@', *a, **k)",
    "augmented": "X = T\nX.@NAME@ += E",
    "loop target": "X = T\nfor X.@NAME@ in [E]: pass",
    "with target": "X = T\nwith Held() as X.@NAME@: pass",
    "unpacked": "X = T\n*X.@NAME@, X.b = E, E, 1",
    "object.__setattr__": "X = T\nobject.__setattr__(X, '@NAME@', E)",
    "super setattr": "class C(@BASE@):\n    def put(self, n): super().__setattr__(n, E)\nX = C()\nX.put('@NAME@')",
    "instance dict": "X = T\nX.__dict__['@NAME@'] = E",
    "vars": "X = T\nvars(X)['@NAME@'] = E",
    "keywords": "X = type(T)(**{'@NAME@': E for n in [0]})",
    "keywords, all": "X = type(T)(**dict.fromkeys([@NAMES@], E))",
    "updated": "X = T\nX.update({'@NAME@': E})",
    "item": "X = T\nX['@NAME@'] = E",
    "namespace by keyword": "X = types.SimpleNamespace(**dict.fromkeys([@NAMES@], E))",
    "arguments by keyword": "X = argparse.Namespace(**dict.fromkeys([@NAMES@], E))",
    "parsed arguments": (
        "p = argparse.ArgumentParser()\np.add_argument('--a', dest='@NAME@', default=E)\nX = p.parse_args([])"
    ),
    "parsed into the place": (
        "p = argparse.ArgumentParser()\np.add_argument('--a', dest='@NAME@', default=E)\nX = p.parse_args([], T)"
    ),
    "type()": "X = type('C', (@BASE@,), dict.fromkeys([@NAMES@], E))()",
    "new_class": "X = types.new_class('C', (@BASE@,), {}, lambda n: n.update(dict.fromkeys([@NAMES@], E)))()",
    "named tuple": "X = collections.namedtuple('C', [@NAMES@])(*[E] * len([@NAMES@]))",
    "named tuple, renamed": "X = collections.namedtuple('C', [@NAMES@], rename=True)(*[E] * len([@NAMES@]))",
    "named tuple, defaults": "X = collections.namedtuple('C', [@NAMES@], defaults=[E] * len([@NAMES@]))()",
    "typed named tuple": "X = typing.NamedTuple('C', [('@NAME@', object)])(E)",
    "named tuple, replaced": "X = collections.namedtuple('C', 'a b')(1, 2)._replace(**dict.fromkeys([@NAMES@], E))",
    "make_dataclass": "X = dataclasses.make_dataclass('C', [@NAMES@], bases=(@BASE@,))(*[E] * len([@NAMES@]))",
    "make_dataclass, namespace": (
        "X = dataclasses.make_dataclass('C', [], bases=(@BASE@,), namespace=dict.fromkeys([@NAMES@], E))()"
    ),
    "dataclass, default": "@dataclasses.dataclass\nclass C(@BASE@):\n    @NAME@: object = E\nX = C()",
    "dataclass, field": (
        "@dataclasses.dataclass\nclass C(@BASE@):\n    x: object = dataclasses.field(default_factory=E)\n"
        "    def @NAME@(self, *a): return E('@NAME@', self, *a)\nX = C()"
    ),
    "dataclasses.replace": "X = dataclasses.replace(T, **dict.fromkeys([@NAMES@], E))",
    "enum by call": "X = enum.Enum('C', dict.fromkeys([@NAMES@], E))",
    "enum by body": (
        "class C(enum.IntEnum):\n    ONE = 1\n    def @NAME@(self, *a): return E('@NAME@', self, *a)\nX = C.ONE"
    ),
    "flag by body": (
        "class C(enum.IntFlag):\n    ONE = 1\n    TWO = 2\n    def @NAME@(self, *a): return E('@NAME@', self, *a)\n"
        "X = C.ONE | C.TWO"
    ),
    "json hook": ("X = json.loads('{\"@NAME@\": 1}', object_hook=lambda d: types.SimpleNamespace(**d))"),
    "update_wrapper": "X = functools.update_wrapper(T, Own.method, assigned=[@NAMES@])",
    "update_wrapper, updated": "X = functools.update_wrapper(T, OwnError('x'), updated=[@NAMES@])",
    "wraps": "X = functools.wraps(T, assigned=[@NAMES@])(lambda *a, **k: 1)",
    "total ordering": (
        "@functools.total_ordering\nclass C(@BASE@):\n    def @NAME@(self, *a): return E('@NAME@', self, *a)\nX = C()"
    ),
    "single dispatch": (
        "X = functools.singledispatch(lambda *a: E('__call__', *a))\nX.register(int, lambda *a: E('__call__', *a))"
    ),
    "cmp_to_key": "X = functools.cmp_to_key(lambda *a: E('__lt__', *a))(T)",
    "copied": "class C(@BASE@):\n    def @NAME@(s, *a): return E('@NAME@', s, *a)\nX = copy.deepcopy(copy.copy(C()))",
    "abstract": (
        "class C(abc.ABC):\n    @abc.abstractmethod\n    def @NAME@(self, *a): return E('@NAME@', self, *a)\n"
        "C.register(@BASE@)\nX = T"
    ),
    "protocol": (
        "@typing.runtime_checkable\nclass C(typing.Protocol):\n    def @NAME@(s, *a): return E('@NAME@', s, *a)\nX = T"
    ),
    "context manager": "X = contextlib.contextmanager(lambda *a: iter([E('__enter__', *a)]))()",
    "exit stack": "X = contextlib.ExitStack()\nX.push(E)\nX.callback(E, '@NAME@')",
    "error arguments": "X = OwnError(*[E] * 3)\nX.args = (E,)\nX.add_note('x')\nX.__cause__ = OwnError('y')",
    "error keywords": "X = AttributeError('x', name='@NAME@', obj=T)",
    "missing attribute": "class C(@BASE@):\n    def __getattr__(self, n): return E(n, self)\nX = C()",
    "set name": (
        "class D:\n    def @NAME@(self, *a): return E('@NAME@', self, *a)\nclass C(@BASE@):\n    d = D()\nX = C()"
    ),
    "hidden in a list": "class C(@BASE@):\n    def @NAME@(self, *a): return E('@NAME@', self, *a)\nX = [C(), T]",
    "hidden in a table": "class C(@BASE@):\n    def @NAME@(s, *a): return E('@NAME@', s, *a)\nX = {1: C(), 'a': [C()]}",
    "array of objects": (
        "class C(@BASE@):\n    def @NAME@(s, *a): return E('@NAME@', s, *a)\nX = numpy.array([C(), T], dtype=object)"
    ),
    "record name": "X = numpy.zeros(2, dtype=[('@NAME@', 'f8') for n in [0]])",
    "record view": "X = numpy.rec.fromarrays([[1, 2]], names='@NAME@')",
    "iterator of its own": "X = map(lambda v: E('__next__', v), [1.0, 2.0, 3.0])",
    "generator of its own": "def made():\n    for i in range(3): yield E('__next__', i)\nX = made()",
    "called until": "X = iter(lambda: E('__next__'), 5)",
    "grouped": "X = itertools.groupby([1.0, 2.0, 3.0], lambda v: E('__call__', v))",
    "filtered": "X = filter(lambda v: E('__bool__', v), [1.0, 2.0, 3.0])",
    "itself": "X = T",
}
"""Ways to make a special name, or to name one."""

ASKS: Final[dict[str, Ask]] = {
    name: Ask(*parts)
    for name, *parts in (
        ("copy", "copy.copy(X)", "__reduce_ex__ __reduce__ __copy__ __getstate__ __setstate__ __class__"),
        (
            "deepcopy",
            "copy.deepcopy(X)",
            "__reduce_ex__ __reduce__ __deepcopy__ __getnewargs_ex__ __setstate__",
        ),
        ("replace", "dataclasses.replace(X)", "__replace__ __dataclass_fields__ __class__"),
        ("asdict", "dataclasses.asdict(X)", "__dataclass_fields__ __deepcopy__ items"),
        ("str", "str(X)", "__str__ __repr__ __class__"),
        ("repr", "repr([X, {1: X}])", "__repr__ __iter__ items"),
        ("format", "'{0} {0!r} {0.a} {0[a]}'.format(X)", "__format__ __str__ __getattr__ __getitem__"),
        ("f-string", "f'{X:>{X}}'", "__format__ __index__ __str__"),
        ("percent", "'%s %r %d %*d' % (X, X, X, X, X)", "__str__ __repr__ __int__ __index__ __getitem__"),
        ("template", "string.Template('$a').substitute(X)", "__getitem__ __contains__ keys"),
        ("join", "'-'.join(X)", "__iter__ __len__ __str__"),
        ("translate", "'abc'.translate(X)", "__getitem__ __index__"),
        ("print", "print(X, sep='')", "__str__ write __format__"),
        ("list", "list(X)", "__iter__ __len__ __length_hint__ __getitem__ __next__"),
        ("extend", "[].extend(X)", "__iter__ __len__ __length_hint__ __next__"),
        ("slice set", "DATA[1:2] = X", "__iter__ __len__ __length_hint__ __next__ __index__"),
        ("slice of", "DATA[X:X]", "__index__ __len__"),
        ("dict", "dict(X)", "keys items __iter__ __getitem__ __len__"),
        ("double star", "Own().method(**X)", "keys __getitem__ __iter__"),
        ("star", "Own().method(*X)", "__iter__ __len__ __getitem__"),
        ("set", "{X} | set([X])", "__hash__ __eq__ __iter__"),
        ("sorted", "sorted([X, T, X], key=None)", "__lt__ __gt__ __eq__"),
        ("sort key", "DATA.sort(key=X)", "__call__ __lt__"),
        ("bisect", "bisect.insort(DATA, X)", "__lt__ __gt__ __len__ __float__"),
        ("heap", "heapq.heapify([X, X, T]) or heapq.merge(X, X)", "__lt__ __iter__"),
        ("sum", "sum(X)", "__iter__ __add__ __radd__ __next__"),
        ("fsum", "math.fsum(X) + math.dist(X, X)", "__iter__ __float__ __len__"),
        ("math", "math.sin(X) + math.ldexp(1.0, X) + math.gcd(X, 4)", "__float__ __index__"),
        ("round", "round(X, X) + math.floor(X) + math.trunc(X)", "__round__ __trunc__ __index__"),
        ("complex", "complex(X)", "__complex__ __float__ __index__"),
        ("bytes", "bytes(X) + bytearray(X)", "__bytes__ __index__ __iter__ __buffer__ __len__"),
        ("range", "range(X, X, X)", "__index__"),
        ("multiply", "[1] * X", "__rmul__ __index__ __mul__"),
        ("power", "pow(X, X, X)", "__index__ __mul__ __int__"),
        (
            "isinstance",
            "isinstance(T, X) or issubclass(type(T), X)",
            "__class__ __instancecheck__ __subclasshook__",
        ),
        ("match", "match_own(X)", "__match_args__ __class__ __getitem__ __len__"),
        ("getattr", "getattr(X, 'missing_one', 1)", "__getattr__ __getattribute__"),
        ("hasattr", "hasattr(X, '@NAME@') and getattr(X, '@NAME@')", "__dict__ __class__ __wrapped__"),
        ("attrgetter", "operator.attrgetter('@NAME@')(X)", "__class__ __dict__ __wrapped__ __name__"),
        ("methodcaller", "operator.methodcaller('@NAME@')(X)", "__reduce__ __dict__ __class__"),
        ("index", "operator.index(X) + operator.length_hint(X)", "__index__ __length_hint__ __len__"),
        ("reduce", "functools.reduce(operator.add, X)", "__iter__ __add__ __radd__"),
        ("cache", "functools.lru_cache(maxsize=2)(lambda v: v)(X)", "__hash__ __eq__"),
        ("partial", "functools.partial(X, X)(1)", "__call__ __wrapped__ __dict__"),
        ("islice", "list(itertools.islice(X, X))", "__index__ __iter__ __next__"),
        ("product", "list(itertools.product(X, X))", "__iter__ __len__"),
        ("counter", "collections.Counter(X).update(X)", "__iter__ keys items __hash__"),
        ("deque", "collections.deque(X, X)", "__iter__ __index__"),
        ("chain map", "collections.ChainMap(X)['a']", "__getitem__ __missing__ __contains__"),
        ("json", "json.dumps(X, default=X)", "__iter__ items __float__ __call__"),
        ("struct", "struct.pack('id', X, X)", "__index__ __float__"),
        ("hash", "hashlib.sha256(X)", "__buffer__ __len__"),
        ("path", "pathlib.PurePath(X)", "__fspath__ __str__ __class__"),
        ("os path", "os.path.join(X, X)", "__fspath__ __str__"),
        ("regular expression", "re.sub('a', X, 'aaa')", "__call__ __str__ __class__"),
        ("random", "random.choice(X) + random.sample(X, 2)[0]", "__len__ __getitem__ random __index__"),
        ("statistics", "statistics.mean(X)", "__iter__ __float__ __add__"),
        ("fraction", "fractions.Fraction(X, X)", "__index__ __class__ __float__"),
        ("datetime", "datetime.timedelta(X, X)", "__index__ __float__ __mul__"),
        ("raise", "raise_own(X)", "__class__ __traceback__ __call__"),
        ("with", "with_own(X)", "__enter__ __exit__ __call__"),
        ("delete item", "delete_item(X)", "__delitem__ __contains__"),
        ("reversed", "list(reversed(X))", "__reversed__ __len__ __getitem__"),
        ("zip", "list(zip(X, X)) + list(enumerate(X, X))", "__iter__ __next__ __index__"),
        ("type", "type(X)(X)", "__new__ __class__ __iter__ __class_getitem__"),
        ("enum value", "Kind(X)", "_missing_ __hash__ __eq__ __index__"),
        (
            "numpy array",
            "numpy.array(X)",
            "__array__ __array_interface__ __array_struct__ __len__ __getitem__ __float__",
        ),
        (
            "numpy array of",
            "numpy.array([X, X])",
            "__array__ __array_interface__ __len__ __getitem__ __dlpack__",
        ),
        (
            "numpy full",
            "numpy.full(3, X) + numpy.zeros(X)",
            "__index__ __float__ __array_interface__ __array__",
        ),
        ("numpy set", "setitem(ARRAY, slice(None), X)", "__array_interface__ __array__ __len__ __float__"),
        ("numpy index", "ARRAY[X]", "__index__ __array__ __array_interface__ __len__ __bool__"),
        ("numpy add", "ARRAY + X", "__array_ufunc__ __radd__ __array_priority__ __array__"),
        ("numpy dot", "numpy.dot(ARRAY, X) + (ARRAY @ X)", "__array_function__ __rmatmul__ __array__"),
        ("numpy where", "numpy.where(X, X, X)", "__array_function__ __array__ __bool__"),
        ("numpy stack", "numpy.concatenate([X, ARRAY])", "__array_function__ __len__ __getitem__"),
        ("numpy vectorize", "numpy.vectorize(X)(ARRAY)", "__call__ __name__ __wrapped__"),
        ("numpy type", "ARRAY.astype(X)", "__class__ __str__ __index__"),
        ("numpy in place", "iadd(ARRAY, X)", "__array_ufunc__ __radd__ __float__"),
        ("array module", "array.array('d', X)", "__iter__ __float__ __len__ __buffer__"),
        ("vector", "mathutils.Vector(X)", "__len__ __getitem__ __float__ __iter__"),
        ("vector of", "mathutils.Vector((X, X, X))", "__float__ __index__"),
        ("vector part", "setitem(VECTOR, 0, X)", "__float__ __index__"),
        ("vector slice", "setitem(VECTOR, slice(0, 2), X)", "__len__ __getitem__ __float__"),
        ("vector multiply", "VECTOR * X + VECTOR @ X", "__rmul__ __float__ __len__ __rmatmul__"),
        ("vector compare", "VECTOR == X or VECTOR < X", "__eq__ __gt__ __len__ __float__"),
        ("matrix", "mathutils.Matrix(X)", "__len__ __getitem__ __iter__ __float__"),
        ("matrix row", "setitem(mathutils.Matrix(), 0, X)", "__len__ __getitem__ __float__"),
        ("rotation", "mathutils.Euler(X, 'XYZ').rotate(X)", "__len__ __getitem__ __float__"),
        (
            "interpolate",
            "mathutils.geometry.interpolate_bezier(X, X, X, X, X)",
            "__len__ __float__ __index__",
        ),
        ("tessellate", "mathutils.geometry.tessellate_polygon([X])", "__len__ __getitem__ __iter__"),
        ("box pack", "mathutils.geometry.box_pack_2d(X)", "__len__ __getitem__ __iter__ __float__"),
        ("delaunay", "mathutils.geometry.delaunay_2d_cdt(X, [], X, 0, 0.1)", "__len__ __getitem__ __index__"),
        ("noise", "mathutils.noise.noise(X)", "__len__ __getitem__ __float__"),
        ("tree", "mathutils.kdtree.KDTree(X).insert(X, X)", "__index__ __len__ __float__"),
        (
            "bvh tree",
            "mathutils.bvhtree.BVHTree.FromPolygons(X, [X])",
            "__len__ __getitem__ __index__ __float__",
        ),
        ("location", "setattr(OB, 'location', X)", "__len__ __getitem__ __float__ __iter__"),
        ("integer property", "setattr(SCENE, 'frame_start', X)", "__index__ __int__ __float__"),
        (
            "float property",
            "setattr(OB, 'pass_index', X) or setattr(OB, 'empty_display_size', X)",
            "__float__ __index__",
        ),
        ("flag property", "setattr(OB, 'hide_viewport', X)", "__bool__ __index__ __len__"),
        ("enum property", "setattr(OB, 'display_type', X)", "__str__ __iter__ __hash__ __len__"),
        ("text property", "setattr(OB, 'name', X)", "__str__ __fspath__ __bytes__"),
        ("pointer property", "setattr(OB, 'parent', X)", "__class__ bl_rna as_pointer"),
        ("custom property", "setitem(OB, 'a', X)", "__len__ __getitem__ keys items __index__ __iter__"),
        (
            "custom property of",
            "setitem(OB, 'a', {'b': [X], 'c': X})",
            "__float__ keys items __len__ __index__",
        ),
        ("properties update", "properties().update(X)", "keys items __iter__ __getitem__"),
        (
            "foreach_set",
            "OB.data.vertices.foreach_set('co', X)",
            "__len__ __getitem__ __float__ __buffer__ __iter__",
        ),
        ("foreach_get", "OB.data.vertices.foreach_get('co', X)", "__len__ __setitem__ __buffer__ __iter__"),
        ("from_pydata", "MESH.from_pydata(X, [], [X])", "__len__ __iter__ __getitem__ __bool__"),
        ("collection item", "OB.data.vertices[X]", "__index__ __hash__ __len__"),
        (
            "collection by name",
            "bpy.data.objects[X] or bpy.data.objects.get(X)",
            "__str__ __index__ __hash__ __eq__",
        ),
        ("in collection", "X in bpy.data.objects or X in OB.modifiers", "__eq__ __hash__ __str__"),
        ("new object", "bpy.data.objects.new('x', X)", "__class__ bl_rna as_pointer"),
        (
            "operator",
            "bpy.ops.mesh.primitive_cube_add(location=X, size=X)",
            "__len__ __getitem__ __float__ __iter__",
        ),
        ("operator flag", "bpy.ops.object.select_all(action=X)", "__str__ __hash__ __eq__"),
        ("key frame", "OB.keyframe_insert(X, frame=X)", "__str__ __float__ __index__"),
        ("override", "override(X)", "keys __enter__ __class__ __getitem__"),
        (
            "image",
            "setattr(bpy.data.images.new('a', 4, 4), 'pixels', X)",
            "__len__ __getitem__ __float__ __iter__",
        ),
        ("bmesh vertex", "BM.verts.new(X)", "__len__ __getitem__ __float__ __iter__"),
        ("bmesh face", "BM.faces.new(X)", "__len__ __iter__ __getitem__ __next__"),
        ("bmesh face of", "BM.faces.new(BM.verts[i] if X else X for i in X)", "__iter__ __bool__ __next__"),
        ("bmesh sort", "BM.verts.sort(key=X)", "__call__ __float__ __lt__"),
        (
            "bmesh operator",
            "bmesh.ops.translate(BM, verts=X, vec=X)",
            "__len__ __iter__ __getitem__ __float__",
        ),
        ("bmesh select", "BM.select_flush(X)", "__bool__ __index__"),
        ("shape key", "OB.shape_key_add(name=X)", "__str__ __len__"),
        ("ray cast", "OB.ray_cast(X, X, distance=X)", "__len__ __getitem__ __float__"),
        (
            "vertex group",
            "OB.vertex_groups.new(name='a').add(X, X, 'REPLACE')",
            "__len__ __iter__ __index__ __float__",
        ),
        ("result", "setresult(X)", "__iter__ __float__ items __str__ __repr__ __class__"),
    )
}
"""C code that asks for special names."""

EFFECTS: Final[dict[str, str]] = {
    "write a file": "open('@CANARY@', 'w').write('x')",
    "read a file": "LOG.append(open('@SECRET@').read())",
    "remove a file": "pathlib.Path('@VICTIM@').unlink()",
    "start a program": "import os; os.system('touch @CANARY@')",
    "start a program by an operator": (
        "bpy.ops.wm.context_set_value(data_path='scene.name', value=\"__import__('os').system('touch @CANARY@')\")"
    ),
    "run a text": "t = bpy.data.texts.new('a'); t.write(\"open('@CANARY@', 'w')\"); t.as_module()",
    "leave a driver": "OB.driver_add('location', 0).driver.expression = \"__import__('os').getpid()\"",
    "leave a handler": "bpy.app.handlers.frame_change_post.append(E)",
    "network": "import socket; socket.create_connection(('127.0.0.1', @PORT@))",
    "remove the object": "bpy.data.objects.remove(bpy.context.object)",
    "remove the mesh": "bpy.data.meshes.remove(OB.data)",
    "empty the container": "DATA.clear(); OB.vertex_groups.clear()",
    "resize the mesh": "OB.data.clear_geometry()",
    "free the bmesh": "BM.free()",
    "clear the bmesh": "BM.clear()",
    "change the mode": "bpy.ops.object.mode_set(mode='EDIT')",
    "undo": "bpy.ops.ed.undo()",
    "endless": "while True: pass",
    "memory": "LOG.append('x' * 10**9)",
    "memory by parts": "for i in range(10**6): LOG.append([0] * 10**5)",
    "recursion": "E(name, *a)",
    "leave the host": "raise SystemExit(3)",
    "stop the iteration": "raise StopIteration",
    "huge answer": "return 10**18",
    "negative answer": "return -7",
    "answer of another type": "return OwnText('x')",
    "answer itself": "return X",
    "answer an address": ("return {'shape': (1 << 20,), 'typestr': '|u1', 'data': (16, True), 'version': 3}"),
    "answer a rebuilder": "return (lambda *a: GUARDED, (), (None, {'_idname': 'wm.quit_blender', 'x': 1}))",
    "change a library": "setattr(colorsys.rgb_to_hsv, '__defaults__', (1,))",
    "keep what is given": "LOG.append((a, k))",
    "swallow a stop": "\n        try: bpy.ops.wm.quit_blender()\n        except Exception: pass",
    "nothing": "pass",
}
"""Effects that a script tries when C code asks for a special name; statements of the body of `E`."""
