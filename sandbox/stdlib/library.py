# SPDX-License-Identifier: GPL-3.0-or-later
"""The script's view of the standard library's functions that could run long, use much memory or reach too far."""

from __future__ import annotations

import abc
import array
import datetime
import hashlib
import importlib
import math
import operator
import statistics
import string
import sys
import textwrap
import time
from collections.abc import Callable, Collection
from typing import Any, Final

from ..guard.builtins import stand_in
from ..guard.ending import ScriptExit, code_of
from ..guard.reentry import may_call_scripts
from ..guard.seam import Guard
from ..guard.values import deep_nesting
from ..guard.values.counter import Counter
from ..guard.values.fractions import Fraction
from ..guard.values.ordered_dict import OrderedDict
from ..guard.values.plain import whole
from .argparse import argparse_members
from .classes import abstract, namedtuple, typing_members
from .contextlib import contextlib_members
from .copy import copy_members
from .dataclasses import dataclasses_members
from .enum import enum_members
from .errors import StatisticsError, raising
from .fractions import fractions_members
from .functools import functools_members
from .io import io_members
from .itertools import itertools_members
from .json import json_members
from .logging import logging_members
from .os import os_members, path_members, shutil_members, tempfile_members
from .pathlib import pathlib_members
from .random import random_members
from .re import pattern_members
from .struct import struct_members
from .sys import platform_members, sys_members
from .text import base64_members, unicodedata_members
from .types import types_members
from .uuid import uuid_members
from .values import bisect_members, datetime_members, heapq_members, operator_members

__all__ = ("allow_library", "guarded_members")

Members = dict[str, object]
_TEXT_LIMIT: Final = 20_000
time.strptime("2000", "%Y")  # C code imports this module's helper at its first use


def allow_library(guard: Guard) -> None:
    """Let the guards read the library's values, even those whose module the script does not import."""
    guard.allowed |= _ALLOWED
    guard.getters[ScriptExit] = lambda ending, name: code_of(ending) if name == "code" else NotImplemented
    guard.items |= {array.array, time.struct_time}
    guard.set_items.add(array.array)


def guarded_members(guard: Guard, wanted: Collection[str]) -> dict[str, Members]:
    """Return the guarded members of the `wanted` modules, for one run.

    The result always includes `collections`: its members stand in for Python's classes in every script.
    """
    return {
        name: make(guard)
        for name, make in _MODULES.items()
        if name.partition(".")[0] in wanted or name == "collections"
    }


def _strftime(pattern: Any, *moment: Any) -> str:
    """Return `time.strftime(…)` of a short pattern: C code reserves 256 times the pattern's length."""
    if not isinstance(pattern, str) or len(pattern) > 1000:
        raise ValueError("strftime() takes a pattern of at most 1,000 characters here")
    return time.strftime(pattern, *moment)


def _collections(guard: Guard) -> Members:
    return {
        "namedtuple": namedtuple(guard),
        "deque": deep_nesting.deque,
        **{
            kind.__name__: guard.builtins.add_facade(guard.hashing.function(kind), kind)
            for kind in (Counter, OrderedDict)
        },
        "defaultdict": guard.builtins.add_facade(_default_dict(guard), deep_nesting.defaultdict),
        "UserDict": dict,
        "UserList": list,
    }


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
    """Do nothing: this function has no effect in a script."""


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


def _statistics(guard: Guard) -> Members:
    """Return the members of `statistics`: check how much they would hash and how long their fractions are."""

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
        long = sum(each.denominator.bit_length() for each in values if type(each) is Fraction)
        guard.operators.bits(long)
        guard.operators.sortable(values)
        return values

    def quantiles(data: Any, *, n: Any = 4, method: Any = "exclusive") -> Any:
        guard.operators.length(operator.index(n) * 100)
        chosen: Any = (
            method if type(method) is str else type(method).__name__
        )  # an error message shows the method
        return statistics.quantiles(look(data), n=operator.index(n), method=chosen)

    members: Members = {name: raising(bounded(getattr(statistics, name))) for name in _OF_VALUES.split()}
    return members | {"quantiles": raising(quantiles), "StatisticsError": StatisticsError}


_OF_VALUES: Final = """correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median
    median_grouped median_high median_low mode multimode pstdev pvariance stdev variance"""


def _default_dict(guard: Guard) -> Callable[..., Any]:
    def defaultdict(factory: Any = None, *items: Any, **named: Any) -> Any:
        return deep_nesting.defaultdict(factory, *map(guard.hashing.keys, items), **named)

    return defaultdict


def _plain_text(text: Any) -> str:
    """Return a text; raise TypeError for what only has the methods of one, which may give texts of any length."""
    if not isinstance(text, str):
        raise TypeError(f"a text is required, not {type(text).__name__}")
    return text


def _capwords(text: Any, sep: Any = None) -> str:
    return string.capwords(_plain_text(text), None if sep is None else _plain_text(sep))


def _textwrap(guard: Guard) -> Members:
    def bounded(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(text: Any, *arguments: Any, **named: Any) -> Any:
            text = _plain_text(text)
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


_ARRAY: Final = "append insert itemsize pop reverse tobytes tolist typecode"
_ALLOWED: Final[dict[type, frozenset[str]]] = {
    time.struct_time: frozenset(name for name in dir(time.struct_time) if name.startswith("tm_")),
    type(hashlib.sha256()): frozenset({"hexdigest", "digest", "update", "name"}),
    array.array: frozenset(_ARRAY.split()),
    datetime.tzinfo: frozenset(),
}
"""Attributes of the library's values that a script may read, by type."""

_ABSTRACT: Final = """Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView
    Mapping MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView"""


def _stand_ins(module: str, names: str) -> Members:
    """Return stand-ins for abstract classes, which a script can use only in `isinstance`."""
    source = importlib.import_module(module)
    return {name: stand_in(getattr(source, name)) for name in names.split()}


_MODULES: Final[dict[str, Callable[[Guard], Members]]] = {
    "contextlib": contextlib_members,
    "datetime": datetime_members,
    "math": _math,
    "random": random_members,
    "argparse": argparse_members,
    "base64": base64_members,
    "io": io_members,
    "logging": logging_members,
    "os": os_members,
    "os.path": path_members,
    "pathlib": pathlib_members,
    "platform": platform_members,
    "shutil": shutil_members,
    "struct": struct_members,
    "sys": sys_members,
    "tempfile": tempfile_members,
    "unicodedata": unicodedata_members,
    "itertools": itertools_members,
    "functools": functools_members,
    "collections": _collections,
    "dataclasses": dataclasses_members,
    "abc": lambda guard: {"abstractmethod": abstract(guard), "ABC": stand_in(abc.ABC)},
    "enum": enum_members,
    "json": json_members,
    "textwrap": _textwrap,
    "string": lambda _guard: {"capwords": _capwords},
    "typing": lambda _guard: typing_members(),
    "statistics": _statistics,
    "copy": copy_members,
    "operator": operator_members,
    "bisect": bisect_members,
    "heapq": heapq_members,
    "fractions": fractions_members,
    "types": types_members,
    "re": pattern_members,
    "time": lambda _guard: {"strftime": _strftime},
    "uuid": uuid_members,
    "hashlib": lambda _guard: {"md5": hashlib.md5, "sha1": hashlib.sha1, "sha256": hashlib.sha256},
    "numbers": lambda _guard: _stand_ins("numbers", "Complex Integral Number Rational Real"),
    "collections.abc": lambda _guard: _stand_ins("collections.abc", _ABSTRACT),
    "pprint": _pprint,
    "warnings": _warnings,
    "traceback": _traceback,
    "__future__": lambda _guard: {},
}
"""Functions that make the guarded members of a module, by the module's name."""

may_call_scripts(globals())
