# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a script's arguments for numpy before numpy gets them.

numpy turns what it has no type for into arrays of Python objects and computes with those by Python's own operators,
which no guard sees: `np.power(10**30, 10**9)` would never end.
"""

from __future__ import annotations

import array
import functools
import importlib
import operator
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final, NoReturn, Protocol

from ...base.per_type import PerType, is_static
from ..guard.seam import Guard
from ..guard.values import deep_nesting
from ..guard.values.fractions import Fraction
from ..guard.values.weight import opened

__all__ = ("LOOKED_AT_OPTIONS", "Arguments", "GuardedArrays", "unsupported")

_WIDEST: Final = 1 << 63
_REFUSED_OPTIONS: Final = frozenset({"signature", "sig", "extobj", "like"})
"""Options that choose how numpy computes, and so may choose Python objects."""
LOOKED_AT_OPTIONS: Final = _REFUSED_OPTIONS | {"kind", "dtype", "where"}
_SCALARS: Final = frozenset({int, float, bool, complex, str})
_AS_THEY_ARE: Final = frozenset({float, bool, complex})
_ROWS: Final = frozenset({list, tuple})
_INTEGERS: Final = frozenset({int, bool})
_READ_AS_ROWS: Final = (list, tuple, range, bytes, bytearray, array.array)
_OBJECTS: Final = frozenset({Fraction, deep_nesting.deque})
_LENDING: Final = PerType(
    lambda kind: (
        is_static(kind) and kind.__name__ in "Vector Euler Quaternion Matrix Color IDPropertyArray".split()
    )
)
"""Blender's values of which numpy would make views into memory that Blender may free at any time."""
_VECTORS: Final = frozenset({"Vector", "Euler", "Quaternion", "Color"})
_SHORT: Final = 4


def unsupported(dtype: Any) -> bool:
    """Return whether values of a type of numpy's are, or hold, Python objects or long doubles.

    numpy 1 crashes where it computes the bits of a long double together with any object, such as None.
    """
    if dtype.hasobject:
        return True
    code = dtype.char
    if code not in _LONG_OR_PARTS:
        return False
    if code in _LONG_DOUBLES:
        return True
    parts = [dtype.subdtype] if dtype.subdtype else (dtype.fields or {}).values()
    return any(unsupported(part[0]) for part in parts)


_LONG_DOUBLES: Final = frozenset({"g", "G"})
_LONG_OR_PARTS: Final = _LONG_DOUBLES | {"V"}
"""Codes of types that are long doubles, or have parts that may be."""


@functools.lru_cache(maxsize=256)
def _names_unsupported(text: str) -> bool:
    """Return whether numpy reads this text as a type that is `unsupported`: "O", "object", "i4,O", "g", …"""
    if len(text) > _LONGEST_TYPE:
        return not _OPENING.isdisjoint(text)
    try:
        return unsupported(importlib.import_module("numpy").dtype(text))
    except (TypeError, ValueError, SyntaxError, KeyError):
        return False


_OPENING: Final = frozenset("OogGlfc")
"""The first letters of what names such a type: O, object, g, G, longdouble, float128, complex256, clongdouble."""


_LONGEST_TYPE: Final = 100


class GuardedArrays(Protocol):
    """The part of `arrays.Arrays` that numpy's special functions use."""

    guard: Guard
    np: Any

    def inward(self, value: Any) -> Any:
        """Return the value that numpy gets for a script's argument."""

    def outward(self, value: Any) -> Any:
        """Return the value that a script gets for numpy's result."""

    def lends(self, value: Any) -> bool:
        """Return whether a value is a vector or the like of Blender's, of whose memory numpy would make a view."""

    def wrapped(self, function: Any, work: Callable[..., float] | None = None) -> Callable[..., Any]:
        """Wrap a function of numpy to check its arguments and its work; `work(…)` returns its operations."""

    def item_of_grid(self, grid: Any, key: Any) -> Any:
        """Return `grid[key]` of `np.mgrid` or a similar object, with a limit on its size."""

    def refuse_type(self) -> NoReturn:
        """Stop the run: arrays of Python objects or long doubles are not for scripts."""


class Arguments:
    """The arguments of numpy's functions, for one run."""

    def __init__(self, guard: Guard, np: Any) -> None:
        self.guard = guard
        self.np = np
        self.array_type: Any = np.ndarray
        self.numbers: set[type] = {*_AS_THEY_ARE, type(None)}
        """Types of numbers, and of None, that numpy gets unchanged."""
        self._flat: set[type] = {*_AS_THEY_ARE, int, np.ndarray}
        """Types of what numpy takes from a row without a look inside."""
        self._lending: set[type] = set()
        """Types for which `_LENDING` returned True."""
        self._vectors: set[type] = set()
        """Those of them whose values numpy reads as rows of Python's floats."""

    def inward(self, value: Any) -> Any:
        """Return an argument for numpy; refuse one that numpy would compute with as Python objects."""
        kind = type(value)
        if kind is self.array_type:
            if unsupported(value.dtype):
                self.refuse_type()
            return value
        if kind in self.numbers or (
            (kind is list or kind is tuple) and _AS_THEY_ARE.issuperset(map(type, value))
        ):
            return value
        if kind is int:
            self._check_width(value, value)
            return value
        if kind in self._lending:
            return self.np.array(value)
        value = self._settled(self.guard.builtins.real(value))
        kind = type(value)
        if kind is list or kind is tuple:
            if not self._is_flat(value):
                self.guard.operators.weight(value)
                self._look_at_numbers(value)
        elif kind is str:
            if _names_unsupported(value):
                self.refuse_type()
        elif kind is dict:  # names a dtype
            self.guard.operators.weight(value)
        elif kind is int:
            self._check_width(value, value)
        elif kind is Fraction or value is object or self._holds_objects(value):
            self.refuse_type()
        elif _LENDING[kind]:
            self._lending.add(kind)
            value = self.np.array(value)
            if kind.__name__ in _VECTORS and value.dtype == float:
                self._vectors.add(kind)
        return value

    def lends(self, value: Any) -> bool:
        """Return whether a value is a vector or the like of Blender's, of whose memory numpy would make a view."""
        return _LENDING[type(value)]

    def row(self, value: Any) -> Any:
        """Return the numbers of a short vector as a list, of which numpy sooner makes an array; else as `inward`.

        Only for functions that read rows and arrays alike: others give lists a meaning of their own.
        """
        if type(value) in self._vectors and len(value) <= _SHORT:
            return list(value)
        return self.inward(value)

    def _holds_objects(self, value: Any) -> bool:
        if isinstance(value, self.np.dtype):
            return unsupported(value)
        return type(value) is self.array_type and unsupported(value.dtype)

    def _settled(self, value: Any) -> Any:
        """Return plain numbers and lists for those of the script's classes, which may answer differently later."""
        kind = type(value)
        if kind is deep_nesting.deque:
            return list(value)
        if kind not in self.guard.own:
            return value
        if hasattr(kind, "__index__"):
            return operator.index(value)
        if hasattr(kind, "__float__"):
            return float(value)
        if issubclass(kind, list | tuple):
            return _items(value)
        if hasattr(kind, "__iter__") or hasattr(kind, "__getitem__"):
            return list(value)
        return self.refuse_type()

    def _is_flat(self, values: list[Any] | tuple[Any, ...]) -> bool:
        """Return whether `values` are only numbers, arrays and rows of numbers; refuse integers beyond 64 bits."""
        kinds, most = set(map(type, values)), self.guard.operators.limits.sequence
        if kinds <= _ROWS:
            if sum(map(len, values)) > most:
                return False
            values = list(chain.from_iterable(values))
            kinds = set(map(type, values))
        if len(values) > most or not kinds <= self._flat:
            return False
        self._check_widths(values, kinds)
        return True

    def _look_at_numbers(self, values: Any) -> None:
        """Refuse integers beyond 64 bits, at any depth, and values for which numpy has no type."""
        level, seen = values, set[type]()
        while level:
            kinds = set(map(type, level))
            seen |= kinds
            self._check_widths(level, kinds)
            strange = {kind for kind in kinds - _SCALARS - self._flat if not issubclass(kind, list | tuple)}
            # beside what it has no type for, numpy computes with Python's integers, which have no end
            if strange and not _INTEGERS.isdisjoint(kinds):
                self.refuse_type()
            for kind in strange:
                if kind in _OBJECTS or kind in self.guard.own:
                    self.refuse_type()
            level = opened(level)
        # at any level, in an array too: numpy takes its items out as Python's integers
        if not seen.isdisjoint({*_INTEGERS, self.array_type}) and not all(map(self._has_type, seen)):
            self.refuse_type()

    def _has_type(self, kind: type) -> bool:
        """Return whether numpy has a type for a value of this kind, or takes it for a row of numbers."""
        if kind in _SCALARS or kind in self._flat or issubclass(kind, _READ_AS_ROWS):
            return True
        return _LENDING[kind] or (is_static(kind) and kind.__name__ == "bpy_prop_array")

    def _check_widths(self, values: Sequence[Any], kinds: set[type]) -> None:
        """Refuse integers beyond 64 bits among `values`, which have these types."""
        if int in kinds:
            numbers = values if len(kinds) == 1 else [each for each in values if type(each) is int]
            self._check_width(min(numbers), max(numbers))

    def _check_width(self, least: int, most: int) -> None:
        """Refuse integers that are wider than 64 bits, with a sign or without one."""
        if least < -_WIDEST or most >= 2 * _WIDEST:
            self.guard.meter.refuse("numpy takes integers of at most 64 bits here: use floats", code="numpy")

    def options(self, named: dict[str, Any]) -> None:
        """Refuse options that make numpy compute with Python objects, or make tables of all numbers between two."""
        table = "kind" in named and named["kind"] == "table"
        if table or not _REFUSED_OPTIONS.isdisjoint(named):
            name = "kind" if table else min(named.keys() & _REFUSED_OPTIONS)
            self.guard.meter.refuse(f"numpy's option {name!r} is not available to scripts", code="numpy")
        if isinstance(named.get("dtype"), str) and unsupported(self.np.dtype(named["dtype"])):
            self.refuse_type()

    def refuse_type(self) -> NoReturn:
        """Stop the run at an array of Python objects or long doubles."""
        self.guard.meter.refuse(
            "numpy arrays of Python objects or long doubles are not supported: use a list, or float64",
            code="numpy",
        )


def _items(value: Any) -> Any:
    """Return the items that C code sees: a script's class may give others by `__iter__`."""
    base = list if isinstance(value, list) else tuple
    return value if type(value) is base else base(base.__iter__(value))
