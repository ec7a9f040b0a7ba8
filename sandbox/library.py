# SPDX-License-Identifier: GPL-3.0-or-later
"""Guarded members of the curated modules: what the standard library would run long, grow big or reach around with."""

from __future__ import annotations

import array
import collections
import contextlib
import dataclasses
import datetime
import enum
import fractions
import functools
import hashlib
import itertools
import json
import math
import operator
import random
import re
import statistics
import sys
import textwrap
import time
import types
import typing
import uuid
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, Final

from . import sturdy
from .class_library import abstract, dataclass_members, namedtuple, typing_members
from .classes import ENUMS, Marker
from .patterns import pattern_members
from .plain import SCALAR_TYPES, whole
from .value_library import (
    bisect_members,
    copy_members,
    datetime_members,
    fraction,
    heapq_members,
    operator_members,
)

if TYPE_CHECKING:
    from .guards import Guard

__all__ = ("allow_library", "guarded_members")

Members = dict[str, object]
_TEXT_LIMIT: Final = 20_000
time.strptime("2000", "%Y")  # C code imports this module's helper when it is first used


def allow_library(guard: Guard) -> None:
    """What may be done with the library's values, whether or not the script imports where they come from."""
    guard.allowed |= _ALLOWED
    guard.own.add(types.SimpleNamespace)
    guard.items |= {array.array, time.struct_time}
    guard.set_items.add(array.array)
    special = type(typing.ClassVar)
    guard.item_readers |= {
        special: lambda value, _key: value,
        Marker: operator.getitem,
        re.Match: operator.getitem,
    }


def guarded_members(guard: Guard, wanted: Collection[str]) -> dict[str, Members]:
    """The guarded members of the `wanted` modules, for one run.

    Those of `collections` are always made: they say what a script sees in place of its classes.
    """
    return {name: make(guard) for name, make in _MODULES.items() if name in wanted or name == "collections"}


def _strftime(pattern: Any, *moment: Any) -> str:
    """`time.strftime`: C code reserves 256 times the length of the pattern."""
    if not isinstance(pattern, str) or len(pattern) > 1000:
        raise ValueError("strftime() takes a pattern of at most 1,000 characters here")
    return time.strftime(pattern, *moment)


def _collections(guard: Guard) -> Members:
    return {
        "namedtuple": namedtuple(guard),
        "deque": sturdy.deque,
        **{
            kind.__name__: guard.builtins.add_facade(guard.hashing.function(kind), kind)
            for kind in (collections.Counter, collections.OrderedDict)
        },
        "defaultdict": guard.builtins.add_facade(_default_dict(guard), sturdy.defaultdict),
        "UserDict": dict,
        "UserList": list,
    }


def _contextlib(guard: Guard) -> Members:
    def suppress(*exceptions: Any) -> contextlib.suppress:
        kinds = tuple(map(guard.builtins.real, exceptions))
        for kind in kinds:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise TypeError("suppress() takes exceptions, one after the other")
        return contextlib.suppress(*kinds)

    return {"suppress": suppress}


def _pprint(guard: Guard) -> Members:
    return {
        "pprint": lambda value, **_options: guard.text.print(guard.text.repr(value)),
        "pformat": guard.text.repr,
    }


def _warnings(guard: Guard) -> Members:
    return {
        "warn": lambda message, *_rest, **_options: guard.text.print(f"warning: {guard.text.show(message)}"),
        "filterwarnings": _ignore,
        "simplefilter": _ignore,
    }


def _traceback(guard: Guard) -> Members:
    return {
        "print_exc": lambda: guard.text.print(_current_error(guard)),
        "format_exc": lambda: _current_error(guard),
    }


def _ignore(*_arguments: object, **_named: object) -> None:
    """What has no meaning in a script."""


def _current_error(guard: Guard) -> str:
    error = sys.exception()
    return "NoneType: None" if error is None else f"{type(error).__name__}: {guard.text.show(error)}"


def _math(guard: Guard) -> Members:
    bits = guard.operators.bits

    def whole(value: Any) -> int:
        return operator.index(value)

    def factorial(number: Any) -> int:
        number = whole(number)
        bits(number * max(number, 1).bit_length() if number > 0 else 0)
        return math.factorial(number)

    def comb(n: Any, k: Any) -> int:
        n, k = whole(n), whole(k)
        bits(min(k, n - k) * max(n, 1).bit_length() if 0 <= k <= n else 0)
        return math.comb(n, k)

    def perm(n: Any, k: Any = None) -> int:
        n = whole(n)
        k = n if k is None else whole(k)
        bits(k * max(n, 1).bit_length() if 0 <= k <= n else 0)
        return math.perm(n, k)

    def prod(items: Any, *, start: Any = 1) -> Any:
        for item in guard.builtins.ticked(iter(items)):
            start = guard.operators.multiply(start, item)
        return start

    return {
        "factorial": factorial,
        "comb": comb,
        "perm": perm,
        "prod": prod,
        "gcd": math.gcd,
        "lcm": _lcm(guard),
        "isqrt": math.isqrt,
    }


def _lcm(guard: Guard) -> Callable[..., int]:
    def lcm(*numbers: Any) -> int:
        result = 1
        for number in numbers:
            number = operator.index(number)
            guard.operators.bits(result.bit_length() + number.bit_length())
            result = math.lcm(result, number)
        return result

    return lcm


_RANDOM: Final = """random uniform triangular randint randrange choice gauss normalvariate betavariate expovariate
    gammavariate lognormvariate vonmisesvariate paretovariate weibullvariate seed"""


def _random(guard: Guard) -> Members:
    length = guard.operators.length
    generator = random.Random()  # noqa: S311 - the script's own, so that seeding it changes nothing for the host

    def choices(population: Any, weights: Any = None, *, cum_weights: Any = None, k: Any = 1) -> list[Any]:
        length(operator.index(k))
        return generator.choices(population, weights, cum_weights=cum_weights, k=k)

    def sample(population: Any, k: Any, *, counts: Any = None) -> list[Any]:
        length(operator.index(k))
        return generator.sample(population, k, counts=counts)

    def shuffle(items: Any) -> None:
        if not isinstance(items, list):
            raise TypeError("shuffle() takes a list here: make one by list(…)")
        generator.shuffle(items)

    def getrandbits(k: Any) -> int:
        guard.operators.bits(operator.index(k))
        return generator.getrandbits(operator.index(k))

    def make(seed: Any = None) -> random.Random:
        return random.Random(guard.text.show(seed) if seed is not None and type(seed) is not int else seed)  # noqa: S311

    guarded = {
        "choices": choices,
        "sample": sample,
        "shuffle": shuffle,
        "getrandbits": getrandbits,
        "Random": make,
    }
    guard.methods[random.Random] = {
        "choices": lambda rng, *a, **k: _bounded_draw(length, rng.choices, a, k),
        "sample": lambda rng, *a, **k: _bounded_draw(length, rng.sample, a, k),
        "shuffle": lambda _rng, items: shuffle(items),
    }
    return {name: getattr(generator, name) for name in _RANDOM.split()} | guarded


def _bounded_draw(length: Callable[[int], None], draw: Callable[..., Any], arguments: Any, named: Any) -> Any:
    arguments, named = tuple(map(whole, arguments)), {name: whole(part) for name, part in named.items()}
    for number in (*arguments[1:], *named.values()):
        if isinstance(number, int):
            length(number)
    return draw(*arguments, **named)


class _Chain:
    """`itertools.chain`."""

    def __init__(self, guard: Guard) -> None:
        self._ticked = guard.builtins.ticked
        self._iterated = guard.iterated

    def __call__(self, *items: Any) -> Iterator[Any]:
        return self.from_iterable(items)

    def from_iterable(self, items: Any) -> Iterator[Any]:
        """`itertools.chain.from_iterable`."""
        return self._ticked(itertools.chain.from_iterable(map(self._iterated, self._iterated(items))))


def _itertools(guard: Guard) -> Members:
    ticked, ticking = guard.builtins.ticked, guard.builtins.ticking

    def plain(function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
        def call(*arguments: Any, **named: Any) -> Iterator[Any]:
            return ticked(function(*arguments, **named))

        return call

    def filtering(function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
        def call(test: Any, items: Any) -> Iterator[Any]:
            return ticked(function(test, ticked(iter(items))))

        return call

    def islice(items: Any, *bounds: Any) -> Iterator[Any]:
        return ticked(itertools.islice(ticked(iter(items)), *bounds))

    def compress(items: Any, selectors: Any) -> Iterator[Any]:
        return ticked(itertools.compress(ticked(iter(items)), selectors))

    def product(*items: Any, repeat: Any = 1) -> Iterator[Any]:
        pools = [tuple(part) for part in items]
        guard.operators.length(sum(map(len, pools)) * operator.index(repeat))
        guard.operators.length(len(pools) * operator.index(repeat) * 1000, "product")
        return ticked(itertools.product(*pools, repeat=operator.index(repeat)))

    def tee(items: Any, n: Any = 2) -> tuple[Iterator[Any], ...]:
        guard.operators.length(operator.index(n) * 10_000)
        return tuple(ticked(part) for part in itertools.tee(items, operator.index(n)))

    def groupby(items: Any, key: Any = None) -> Iterator[Any]:
        made = ticking(key) or (lambda item: item)
        keyed = itertools.groupby(ticked(iter(items)), lambda item: guard.hashing.key(made(item)))
        for name, group in keyed:
            yield name, ticked(group)

    def chosen(function: Callable[..., Any]) -> Callable[..., Any]:
        """C code makes room for all that is in one choice, whether or not there is a choice."""

        def call(items: Any, r: Any = None, *rest: Any, **named: Any) -> Iterator[Any]:
            for size in (r, *named.values()):
                guard.operators.length(0 if size is None else operator.index(size))
            counts = () if r is None else (operator.index(r), *rest)
            return ticked(function(items, *counts, **{name: whole(part) for name, part in named.items()}))

        return call

    names = "accumulate count cycle pairwise repeat starmap zip_longest"
    found = {name: getattr(itertools, name) for name in names.split() if hasattr(itertools, name)}
    members: Members = {name: plain(function) for name, function in found.items()}
    members |= {
        name: filtering(getattr(itertools, name)) for name in ("dropwhile", "filterfalse", "takewhile")
    }
    choices = ("batched", "combinations", "combinations_with_replacement", "permutations")
    members |= {name: chosen(getattr(itertools, name)) for name in choices if hasattr(itertools, name)}
    members |= {"islice": islice, "compress": compress, "product": product, "tee": tee, "groupby": groupby}
    drawing = {name: _drawing(guard, function) for name, function in members.items()}
    return {**drawing, "chain": _Chain(guard)}


def _drawing(guard: Guard, function: Any) -> Callable[..., Any]:
    """A function that goes through its arguments while the script runs."""
    return lambda *arguments, **named: function(*map(guard.iterated, arguments), **named)


def _functools(guard: Guard) -> Members:
    def reduce(function: Any, items: Any, *start: Any) -> Any:
        drawn = guard.builtins.ticked(iter(guard.iterated(items)))
        return functools.reduce(guard.builtins.ticking(function), drawn, *start)

    def wraps(wrapped: Any, **_options: Any) -> Callable[[Any], Any]:
        return lambda wrapper: update_wrapper(wrapper, wrapped)

    def update_wrapper(wrapper: Any, wrapped: Any, **_options: Any) -> Any:
        own = isinstance(wrapper, types.FunctionType) and wrapper.__globals__ is guard.namespace
        if own and isinstance(wrapped, types.FunctionType):
            wrapper.__name__, wrapper.__qualname__, wrapper.__doc__ = (
                *(wrapped.__name__, wrapped.__qualname__, wrapped.__doc__),
            )
        return wrapper

    def total_ordering(kind: Any) -> Any:
        if not isinstance(kind, type) or kind not in guard.own:
            raise TypeError("total_ordering() decorates classes of the script")
        return functools.total_ordering(kind)

    def lru_cache(maxsize: Any = 128, typed: Any = False) -> Any:
        if callable(maxsize):
            return cached(maxsize, 128, False)
        return lambda function: cached(function, maxsize, typed)

    def cached(function: Any, maxsize: Any, typed: Any) -> Any:
        return _Cached(guard, functools.lru_cache(maxsize, bool(typed))(lambda *a, **k: function(*a, **k)))

    return {
        "cmp_to_key": sturdy.cmp_to_key,
        "reduce": reduce,
        "wraps": wraps,
        "update_wrapper": update_wrapper,
        "total_ordering": total_ordering,
        "lru_cache": lru_cache,
        "cache": lambda function: cached(function, None, False),
    }


class _Cached:
    """What `functools.lru_cache` gives: the arguments are looked at before they are hashed."""

    def __init__(self, guard: Guard, cached: Any) -> None:
        self._key, self._cached = guard.hashing.key, cached
        self.cache_clear, self.cache_info = cached.cache_clear, cached.cache_info
        self.cache_parameters = cached.cache_parameters

    def __get__(self, instance: Any, _owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not SCALAR_TYPES.issuperset(map(type, arguments)):
            self._key(arguments)
        if named:
            self._key(tuple(named.values()))
        return self._cached(*arguments, **named)


def _statistics(guard: Guard) -> Members:
    """Functions that hash all values, or compute with fractions of any length."""

    def bounded(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            arguments = tuple(map(look, arguments))
            return function(*arguments, **{name: look(value) for name, value in named.items()})

        return call

    def look(values: Any) -> Any:
        if not hasattr(type(values), "__iter__") or isinstance(values, str):
            return values
        values = guard.hashing.keys(values)
        values = values if isinstance(values, list | tuple) else list(values)
        long = sum(each.denominator.bit_length() for each in values if type(each) is fractions.Fraction)
        guard.operators.bits(long)
        return values

    def quantiles(data: Any, *, n: Any = 4, method: Any = "exclusive") -> Any:
        guard.operators.length(operator.index(n) * 100)
        chosen: Any = method if type(method) is str else type(method).__name__  # an error shows it
        return statistics.quantiles(look(data), n=operator.index(n), method=chosen)

    members: Members = {name: bounded(getattr(statistics, name)) for name in _OF_VALUES.split()}
    return members | {"quantiles": quantiles}


_OF_VALUES: Final = """correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median
    median_grouped median_high median_low mode multimode pstdev pvariance stdev variance"""


def _default_dict(guard: Guard) -> Callable[..., Any]:
    def defaultdict(factory: Any = None, *items: Any, **named: Any) -> Any:
        return sturdy.defaultdict(factory, *map(guard.hashing.keys, items), **named)

    return defaultdict


def _json(guard: Guard) -> Members:
    def dumps(
        value: Any, *, indent: Any = None, default: Any = None, separators: Any = None, **options: Any
    ) -> str:
        indent = whole(indent)
        if indent is not None and type(indent) not in (str, int):
            raise TypeError("json.dumps(indent=…) takes a number or a text")
        wide = len(indent) if type(indent) is str else indent or 0
        if not -1 <= wide <= 8:
            guard.meter.exceed("json.dumps(indent=…) is over the limit of 8", limit="format")
        guard.operators.length(guard.operators.weight(value) * (1 + 4 * max(wide, 0)), "text")
        for part in separators or ():
            guard.operators.length(len(part) * 100_000, "text")
        allowed: dict[str, Any] = {
            name: bool(options.pop(name))
            for name in ("sort_keys", "ensure_ascii", "allow_nan")
            if name in options
        }
        if options:
            raise TypeError(f"json.dumps() does not take {', '.join(options)} here")
        convert = None if default is None else weighed(guard.builtins.ticking(default))
        return json.dumps(value, indent=indent, default=convert, separators=separators, **allowed)

    def weighed(default: Any) -> Callable[[Any], Any]:
        """What a script gives for values that JSON has no form for, all of it together."""
        total = 0

        def convert(value: Any) -> Any:
            nonlocal total
            found = default(value)
            total += guard.operators.weight(found)
            guard.operators.length(total, "text")
            return found

        return convert

    def loads(text: Any, *, object_hook: Any = None, object_pairs_hook: Any = None) -> Any:
        if isinstance(text, str | bytes | bytearray):
            guard.operators.length(len(text), "text")
        return json.loads(text, object_hook=object_hook, object_pairs_hook=object_pairs_hook)

    return {"dumps": dumps, "loads": loads, "JSONDecodeError": json.JSONDecodeError}


def _textwrap(guard: Guard) -> Members:
    def bounded(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(text: Any, *arguments: Any, **named: Any) -> Any:
            arguments, named = (
                tuple(map(whole, arguments)),
                {name: whole(part) for name, part in named.items()},
            )
            size = sum(len(part) for part in (text, *arguments, *named.values()) if isinstance(part, str))
            widths = [int(part) for part in (*arguments, *named.values()) if isinstance(part, int)]
            if size > _TEXT_LIMIT or any(width > _TEXT_LIMIT for width in widths):
                guard.meter.exceed(f"textwrap takes at most {_TEXT_LIMIT:,} characters", limit="sequence")
            tabs = text.count("\t") if isinstance(text, str) else 0
            guard.operators.length(tabs * max(named.get("tabsize", 8), 0), "text")
            prefixes = sum(len(part) for part in (*arguments, *named.values()) if isinstance(part, str))
            guard.operators.length(prefixes * (len(text) if isinstance(text, str) else 0), "text")
            return function(text, *arguments, **named)

        return call

    return {
        name: bounded(getattr(textwrap, name)) for name in ("dedent", "fill", "indent", "shorten", "wrap")
    }


_ARRAY: Final = (
    "append count extend fromlist index insert itemsize pop remove reverse tobytes tolist typecode"
)
_ALLOWED: Final[dict[type, frozenset[str]]] = {
    random.Random: frozenset(_RANDOM.split()),
    uuid.UUID: frozenset({"hex", "int", "bytes", "urn", "version"}),
    dataclasses.Field: frozenset({"name", "type", "default", "default_factory"}),
    time.struct_time: frozenset(name for name in dir(time.struct_time) if name.startswith("tm_")),
    type(hashlib.sha256()): frozenset({"hexdigest", "digest", "update", "name"}),
    _Chain: frozenset({"from_iterable"}),
    _Cached: frozenset({"cache_clear", "cache_info", "cache_parameters"}),
    array.array: frozenset(_ARRAY.split()),
    enum.auto: frozenset({"value"}),
    datetime.tzinfo: frozenset(),
}
"""Attributes that may be read of the library's values, by type."""

_MODULES: Final[dict[str, Callable[[Guard], Members]]] = {
    "contextlib": _contextlib,
    "datetime": datetime_members,
    "math": _math,
    "random": _random,
    "itertools": _itertools,
    "functools": _functools,
    "collections": _collections,
    "dataclasses": dataclass_members,
    "abc": lambda guard: {"abstractmethod": abstract(guard)},
    "enum": lambda _guard: {kind.__name__: kind for kind in ENUMS},
    "json": _json,
    "textwrap": _textwrap,
    "typing": lambda _guard: typing_members(),
    "statistics": _statistics,
    "copy": copy_members,
    "operator": operator_members,
    "bisect": bisect_members,
    "heapq": heapq_members,
    "fractions": lambda guard: {"Fraction": fraction(guard)},
    "re": pattern_members,
    "time": lambda _guard: {"strftime": _strftime},
    "uuid": lambda _guard: {"uuid4": uuid.uuid4, "UUID": uuid.UUID},
    "hashlib": lambda _guard: {"md5": hashlib.md5, "sha1": hashlib.sha1, "sha256": hashlib.sha256},
    "pprint": _pprint,
    "warnings": _warnings,
    "traceback": _traceback,
    "__future__": lambda _guard: {},
}
"""What makes the guarded members of a module."""
