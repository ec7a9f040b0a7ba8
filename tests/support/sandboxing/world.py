# SPDX-License-Identifier: GPL-3.0-or-later
"""Walks every value that a script can reach, and decides which of the five kinds each is.

A script may hold plain data of exact builtin types; what it made itself through the class hook; values of Blender,
mathutils, bmesh or numpy whose type is reviewed; facades; and C functions. Everything else is outside.
"""

from __future__ import annotations

import array
import collections
import contextlib
import datetime
import functools
import hashlib
import itertools
import random
import re
import time
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.guard.ending import ScriptExit
from bl_ext.user_default.mcp_bridge.sandbox.guard.facade import Facade, is_immutable, may_be_held
from bl_ext.user_default.mcp_bridge.sandbox.guard.guards import Guard
from bl_ext.user_default.mcp_bridge.sandbox.guard.values import deep_nesting
from bl_ext.user_default.mcp_bridge.sandbox.guard.values.counter import Counter
from bl_ext.user_default.mcp_bridge.sandbox.guard.values.ordered_dict import OrderedDict
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.language.hooks import RUNNING
from bl_ext.user_default.mcp_bridge.sandbox.run.execute import prepare
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, ScriptStopped, Watchdog
from mathutils import Vector

__all__ = ("HOSTILE", "Outside", "classify", "quietly", "reachable")

_PACKAGE: Final = Facade.__module__.rpartition(".sandbox")[0]
_PLAIN: Final = frozenset(
    {int, float, bool, complex, str, bytes, bytearray, type(None), type(...), type(NotImplemented)}
    | {list, tuple, dict, set, frozenset, range, slice, types.MappingProxyType}
    | {type({}.keys()), type({}.values()), type({}.items())}
    | {datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone}
    | {deep_nesting.deque, deep_nesting.defaultdict, OrderedDict, Counter, array.array}
)
"""Exact types of plain data."""
_MACHINERY: Final = frozenset(
    {deep_nesting.property, deep_nesting.staticmethod, deep_nesting.classmethod, super}
    | {type(collections.namedtuple("_", "x").x)}
)
"""Types that only mean something in a class body or a method; they hold functions of the script."""
_C_VALUES: Final = frozenset(
    {re.Match, type(hashlib.md5()), type(hashlib.sha1()), type(hashlib.sha256()), time.struct_time}
    | {
        type(iter(each))
        for each in ([], (), {}, set(), "", b"", range(1), {}.values(), {}.items(), deque(), array.array("b"))
    }
    | {type(iter("é")), type(reversed([])), type(reversed({})), type(iter(int, 1)), type(iter(Vector()))}
    | {type(int.imag), type(range.step), object}
)
"""Types written in C whose values have methods of their own and no attribute that a script could set."""
_FUNCTIONS: Final = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)

_HARMLESS_METHODS: Final = frozenset({(random.Random, "random")})
"""Methods written in C of objects that a script does not hold; they change only these objects."""


class Outside(AssertionError):
    """Tells that a value is of none of the five kinds."""


def classify(guard: Guard, value: Any) -> str:
    """Return the kind of a value: "plain", "own", "blender", "facade" or "c".

    Raises:
        Outside: it is none of them; the message says what it is.
    """
    kind = type(value)
    if kind in _PLAIN or (isinstance(value, BaseException) and kind not in guard.own):
        return "plain"
    if _is_own(guard, value, kind):
        return "own"
    if _is_reviewed(guard, value, kind):
        return "blender"
    if isinstance(value, Facade):
        return _checked_facade(value)
    if kind in _C_VALUES:
        return "c"
    if isinstance(value, type):
        if may_be_held(value):
            return "c"
        raise Outside(f"a class that can be changed: {value!r}")
    if kind in _FUNCTIONS:
        return _checked_function(guard, value)
    if isinstance(value, tuple) and not kind.__dictoffset__:  # named tuples of the library, structs of C
        return "plain"
    raise Outside(f"{kind.__module__}.{kind.__qualname__}: {object.__repr__(value)}")


def _is_own(guard: Guard, value: Any, kind: type) -> bool:
    if kind in guard.own or (isinstance(value, type) and value in guard.own):
        return True
    if kind is types.FunctionType:
        return value.__globals__ is guard.namespace
    if kind is types.GeneratorType:
        frame = value.gi_frame
        return frame is None or frame.f_globals is guard.namespace or _is_ours(frame.f_globals["__name__"])
    return kind in _MACHINERY


def _is_ours(module: object) -> bool:
    return type(module) is str and module.startswith(_PACKAGE)


def _is_reviewed(guard: Guard, value: Any, kind: type) -> bool:
    if isinstance(value, type):
        return False
    if guard.owns(kind) and not isinstance(value, Facade):
        return True
    listed = kind in guard.allowed or kind in guard.getters or kind in guard.items
    return listed and not kind.__dictoffset__ and is_immutable(kind)


def _checked_facade(value: Any) -> str:
    kind = type(value)
    if kind.__dictoffset__:
        raise Outside(f"a facade with a __dict__: {kind!r}")
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType):
                raise Outside(f"a facade whose slot {name!r} can be written: {kind!r}")
    for name in ("new", "__class__", *(name for name in dir(kind) if not name.startswith("__"))):
        with contextlib.suppress(AttributeError, TypeError):
            object.__setattr__(value, name, None)
            raise Outside(f"a facade whose attribute {name!r} can be set: {kind!r}")
    return "facade"


def _checked_function(guard: Guard, value: Any) -> str:
    """Return the kind of a function of ours or of C, after a check of the object that it is bound to."""
    holder = getattr(value, "__self__", None)
    if type(value) is types.MethodType:
        function = value.__func__
        if type(function) is types.FunctionType:
            if function.__globals__ is guard.namespace:
                return "own"
            return "facade"
        if isinstance(function, (Facade, types.MethodType)):
            return "facade"
        raise Outside(f"a method of {type(function)!r}")
    if type(holder) is types.FunctionType or isinstance(holder, types.ModuleType) or holder is None:
        return "facade" if type(holder) is types.FunctionType else "c"
    if type(value) is types.MethodWrapperType and is_immutable(type(holder)) and callable(holder):
        return "c"  # a function that numpy makes in C, sealed
    if (type(holder), value.__name__) not in _HARMLESS_METHODS:
        classify(guard, holder)
    return "c"


# --- the walk -----------------------------------------------------------------------------------------------

_SCRIPT: Final = """
def function(*values, **named): return values[0] if values else 1
def two(a, b): return -1
def generator():
    yield 1
    yield 2
class Plain:
    def __init__(self): self.x = 1
    def method(self): return 1
    @property
    def value(self): return 2
    @staticmethod
    def static(): return 3
    @classmethod
    def made(cls): return cls()
class Rows(list): pass
class Table(dict): pass
class Bad(ValueError): pass
instance, rows, table, error = Plain(), Rows([1, 2]), Table(a=1), Bad("x")
result = None
"""
_REGISTERED: Final = """
import bpy
class Operated(bpy.types.Operator):
    bl_idname, bl_label = "object.operated", ""
    size: bpy.props.FloatVectorProperty()
    choice: bpy.props.EnumProperty(items=[("A", "", "")])
    def execute(self, context): return {"FINISHED"}
class Drawn(bpy.types.Panel): pass
bpy.utils.register_class(Operated)
operated, drawn = Operated(), Drawn()
"""
"""The further part of the walk's script at the levels with Blender."""
_OWN_NAMES: Final = "function two generator Plain Rows Table Bad instance rows table error".split()
_REGISTERED_NAMES: Final = "Operated operated Drawn drawn".split()
HOSTILE: Final = "().__class__.__itemsize__"
"""A text that does harm if anything gives it to Python's compiler."""
_MEMBERS_MOST: Final = 4_000


def _arguments(own: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield typical arguments, from none to three."""
    function, two, Plain, instance = own["function"], own["two"], own["Plain"], own["instance"]
    single = (2, 0.5, "a.b", b"ab", [3, 1, 2], [[1.0, 2.0], [3.0, 4.0]], {"a": 1}, (1, 2), {1, 2}, None)
    yield ()
    for each in (
        *single,
        function,
        Plain,
        instance,
        own["rows"],
        own["error"],
        ValueError,
        '{"a": 1}',
        [(0, 0, 0), (1, 0, 0), (0, 1, 0)],
    ):
        yield (each,)
    yield from [(2, 3), ("a", "b"), ("a", "cab"), ([1, 2], [3, 4]), (function, [1, 2]), ([1, 2], function)]
    yield from [(two, [2, 1]), (instance, "x"), ("name", ["a", "b"]), ((0, 0, 1), (1, 0, 0)), (2.0, 1.0, 3.0)]
    yield from [
        ([1, 2, 3], 2, 3),
        ("a", "b", "cab"),
        (function, [1, 2], 0),
        ((0, 0, 0), (1, 0, 0), (0, 1, 0)),
    ]
    yield from [(HOSTILE,), (HOSTILE, HOSTILE), (HOSTILE, HOSTILE, HOSTILE), ("NONE", "LENGTH", HOSTILE)]
    yield from [("NONE", "LENGTH", "1m", HOSTILE), ("METRIC", "TIME", f"1 + {HOSTILE}")]
    yield from [(2000, 1, 1), ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])]


def reachable(level: str, *, most: int = 60_000) -> Iterator[tuple[str, Any, Guard]]:
    """Yield the way to every value that the walk reaches, the value, and the guard that gave it, inside its run.

    The walk begins with the builtins and all that the level may import; it continues with the members, the items and
    the values of iterations; and it calls callables with typical arguments.
    """
    rules = policy(level)  # type: ignore[arg-type]
    imports = "\n".join(f"import {name}" for name in sorted(rules.imports) if name != "__future__")
    script = _SCRIPT + _REGISTERED * rules.has_blender
    compiled = compile_script(f"{imports}\n{script}")
    meter = Watchdog(Limits(time_s=600, sequence=10_000))
    with meter:
        guard, running = prepare(compiled, rules, meter)
        with running:
            exec(compile_script(script).code, guard.namespace)
            yield from _walk(guard, meter, most)


def _walk(guard: Guard, meter: Watchdog, most: int) -> Iterator[tuple[str, Any, Guard]]:
    own = {name: guard.namespace[name] for name in _OWN_NAMES + _REGISTERED_NAMES if name in guard.namespace}
    hidden = ("__import__", "__build_class__")  # what C code asks for: no script can name them
    waiting = _Waiting(most)
    for name, value in guard.namespace["__builtins__"].items():
        if name not in hidden:
            waiting.add(name, value, 0)
    for name in guard.imports.names():
        waiting.add(name, guard.imports[name], 0)
    for name, value in own.items():
        waiting.add(name, value, 0)
    seen: dict[Any, Any] = {}
    counts: collections.Counter[type] = collections.Counter()
    for path, value, depth in waiting:
        with contextlib.suppress(Exception):
            yield path, value, guard
        key = _identity(value)
        if key in seen or depth > 6:
            continue
        seen[key] = value
        counts[type(value)] += 1
        if counts[type(value)] > 40 and not callable(value):
            continue
        for step, make in _steps(guard, value, own):
            found = quietly(guard, meter, make)
            if found is not _NOTHING and type(found) not in _DULL:
                waiting.add(path + step, found, depth + 1)


class _Waiting:
    """The first `most` values that were added, each with the way to it and its depth.

    Whenever something may have moved, the sandbox looks through all that the garbage collector knows of. So there is no
    tuple for each value, and no value that the walk will not come to.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self._paths: deque[str] = deque()
        self._values: deque[Any] = deque()
        self._depths: deque[int] = deque()

    def add(self, path: str, value: Any, depth: int) -> None:
        if self._left:
            self._left -= 1
            self._paths.append(path)
            self._values.append(value)
            self._depths.append(depth)

    def __iter__(self) -> Iterator[tuple[str, Any, int]]:
        while self._paths:
            yield self._paths.popleft(), self._values.popleft(), self._depths.popleft()


_DULL: Final = frozenset({int, float, bool, str, bytes, type(None), complex})
_NOTHING: Final = object()


def _identity(value: Any) -> Any:
    """Return a value's identity: functions read twice are the same; a value without an identity has its own."""
    if type(value) in (types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType):
        return (
            type(value),
            getattr(value, "__name__", ""),
            id(getattr(value, "__self__", None)),
            id(getattr(value, "__func__", None)),
        )
    return id(value)


def quietly(guard: Guard, meter: Watchdog, make: Callable[[], Any]) -> Any:
    """Return what `make()` gives; go on after a refusal or an error."""
    try:
        return make()
    except (Exception, ScriptStopped, ScriptExit):
        meter.error = None  # the walk goes on after a refusal
        guard.namespace[RUNNING] = True
        return _NOTHING


def _steps(guard: Guard, value: Any, own: dict[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    kind = type(value)
    for name in _names(guard, value, kind):
        yield f".{name}", functools.partial(guard.get_named, value, name)
    if kind in _DULL:
        return
    for key in (0, "a", "x"):
        yield f"[{key!r}]", functools.partial(guard.getitem, value, key)
    if hasattr(kind, "__iter__") and not isinstance(value, type):
        yield "[each]", lambda: next(itertools.islice(iter(guard.iterated(value)), 1))
    yield "type()", lambda: guard.type_of(value)
    if callable(value) and not _is_blenders_function(guard, value):
        for arguments in _arguments(own):
            yield f"{arguments!r:.60}", functools.partial(_call, value, arguments)
        yield "(two, x=1)", lambda: value(x=1)
    elif hasattr(kind, "__enter__"):
        yield ".__enter__()", lambda: kind.__enter__(value)


def _call(function: Any, arguments: tuple[Any, ...]) -> Any:
    import copy

    return function(*(copy.copy(part) if type(part) in (list, dict, set) else part for part in arguments))


def _names(guard: Guard, value: Any, kind: type) -> list[str]:
    names = {"__class__", "__doc__", "__name__", "__qualname__", "__members__", "__init__"}
    for each in (kind, value) if isinstance(value, (type, Facade)) else (kind,):
        with contextlib.suppress(Exception):
            names.update(name for name in dir(each) if not name.startswith("_"))
    names |= set(guard.allowed.get(kind, ()))
    names |= set(guard.methods.get(kind, ()))
    real = guard.builtins.real(value)
    if isinstance(real, type):
        with contextlib.suppress(Exception):
            names.update(name for name in dir(real) if not name.startswith("_"))
    return sorted(names)[:_MEMBERS_MOST]


def _is_blenders_function(guard: Guard, value: Any) -> bool:
    """Return whether calling a function changes the scene: operators, and methods of Blender's data."""
    holder = getattr(value, "__self__", None)
    return (
        type(value).__name__ in ("Operator", "bpy_func")
        or guard.owns(type(holder))
        or (type(holder) is tuple and any(guard.owns(type(part)) for part in holder))
        or (isinstance(holder, tuple) and len(holder) == 2 and guard.owns(type(holder[1])))
    )
