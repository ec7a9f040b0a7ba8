# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds calls of numpy that certainly need little memory: the allocation handler need not check these.

The handler is a call of Python for each array, of a single number too, and `np.clip(x, 0, 1)` makes six. The
arguments show how much a call may need, for functions for which `facts/numpy.json` says how. For all others, and for
arguments of other types than the few here, this cannot be known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, Final

from .array_lists import LISTS

__all__ = ("MOST", "by_sizes", "goes_by_sizes", "measure")

MOST: Final = 1 << 14
"""The most items of a call's arrays for which its memory is not checked."""
_NUMERIC: Final = frozenset("bhilqBHILQefdFD?")
"""The letters of numpy's types of numbers, without long doubles."""
_SHORT: Final = 16
"""The most items of a row, such as that of `np.vstack`, that are looked at one by one."""
_FLOATS: Final = frozenset({float, bool, complex})
_COUNTED: Final = frozenset({int, float, bool})
_BY_SIZES: Final = frozenset(LISTS["small"]["sizes"].split())
_BY_NUMBERS: Final = frozenset(LISTS["small"]["numbers"].split())

Measure = Callable[[Iterable[Any]], float]


def measure(np: Any, function: Any, numbers: Collection[type]) -> Measure | None:
    """Return a function that estimates from arguments the most items of a call's arrays; None if none can.

    `numbers`: the types of numbers, and of None, that numpy gets unchanged.
    """
    if goes_by_sizes(np, function):
        return by_sizes(np, numbers)
    return _by_numbers if getattr(function, "__name__", "") in _BY_NUMBERS else None


def goes_by_sizes(np: Any, function: Any) -> bool:
    """Return whether the arrays of a call never have more items than the product of all arguments' items."""
    return isinstance(function, np.ufunc) or getattr(function, "__name__", "") in _BY_SIZES


def by_sizes(np: Any, numbers: Collection[type]) -> Measure:
    """Return what gives the product of all arguments' items, for calls whose arrays never have more.

    Whatever the numbers are. All operators are such calls.
    """
    kinds = {float, int, bool, complex, *(np.dtype(char).type for char in _NUMERIC)}
    return partial(_by_sizes, np.ndarray, numbers, frozenset(kinds))


def _by_sizes(
    array: type, numbers: Collection[type], kinds: Collection[type], values: Iterable[Any]
) -> float:
    items = 1.0
    for value in values:
        kind = type(value)
        if kind is array:
            items *= _of_array(value)
        elif kind is int:
            if not _fits(value):
                return math.inf
        elif kind is list or kind is tuple:
            items *= len(value) or 1 if _FLOATS.issuperset(map(type, value)) else _in_row(array, value)
        elif kind not in numbers and not (kind is type and value in kinds):  # a dtype
            return math.inf
    return items


def _of_array(array: Any) -> float:
    """Return the items of an array of numbers, once for each axis, for which `nonzero` makes an index; else infinity.

    An array without items may have a million columns.
    """
    return array.size * (array.ndim or 1) or math.inf if array.dtype.char in _NUMERIC else math.inf


def _in_row(array: type, row: list[Any] | tuple[Any, ...]) -> float:
    """Return how many items the arrays, rows of numbers and numbers in a short row have together."""
    if len(row) > _SHORT:
        return math.inf
    items = 0.0
    for part in row:
        kind = type(part)
        if kind is array:
            items += _of_array(part)
        elif kind is list or kind is tuple:
            if len(part) > MOST or not _COUNTED.issuperset(map(type, part)):
                return math.inf
            if not all(_fits(each) for each in part if type(each) is int):
                return math.inf
            items += len(part) or math.inf
        elif kind not in _FLOATS and not (kind is int and _fits(part)):
            return math.inf
        else:
            items += 1
    return items or 1


def _by_numbers(values: Iterable[Any]) -> float:
    """Return the items if numbers are counts of items, or steps between them: 0.01 counts as 100."""
    items = 1.0
    for value in values:
        kind = type(value)
        if kind is tuple and _COUNTED.issuperset(map(type, value)):
            items *= (len(value) or 1) * _by_numbers(value)
        elif kind in _COUNTED and (kind is not int or _fits(value)):
            size = abs(float(value))
            items *= size if size >= 1 or size != size else 1 / size if size else 1
        elif value is not None:
            return math.inf
    return items


def _fits(value: int) -> bool:
    """Return whether numpy has a type for an integer."""
    return -(1 << 63) <= value < 1 << 64
