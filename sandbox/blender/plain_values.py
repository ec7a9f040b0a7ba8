# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain numbers, texts, lists and arrays that Blender gets in place of a script's own values; finds NaN in them."""

from __future__ import annotations

import operator
from typing import Any

import bpy

from ...base.per_type import PerType

__all__ = (
    "all_as_plain",
    "are_finite",
    "as_plain",
    "has_nan",
    "held_items",
    "is_integers",
    "numbers_to_read",
    "place_to_write",
)

_PLAIN = frozenset({bool, int, float, str, type(None)})


def as_plain(value: Any) -> Any:
    """Return a plain value for Blender: a script's own number could be one number when checked, another when used.

    Blender reads a text up to its first null character, so only this part is checked.
    """
    kind = type(value)
    if kind in _PLAIN and kind is not str:
        return value
    if isinstance(value, str):
        return str.partition(value, "\0")[0] if str.__contains__(value, "\0") else str.__str__(value)
    if kind in (list, tuple):
        plain = _PLAIN.issuperset(map(type, value)) or isinstance(value[0], (list, tuple))
        return value if plain else kind(map(as_plain, value))
    own = kind.__module__ == "<script>"
    if hasattr(kind, "__index__") and (own or not hasattr(kind, "__len__")):
        return operator.index(value)
    if hasattr(kind, "__float__") and (own or not hasattr(kind, "__len__")):
        return float(value)
    return value


def held_items(value: Any) -> Any:
    """Return a sequence as a list that holds its items, for what Blender reads as an array of integers or flags.

    Blender names the type of a wrong item after it has released the item: if nothing else holds it, as with the numbers
    of a vector or an array, Blender crashes.
    """
    kind = type(value)
    if kind in _PLAIN or kind in _HOLDING or issubclass(kind, dict):
        return value
    if not (hasattr(kind, "__getitem__") and hasattr(kind, "__len__")):
        return value
    return list(map(held_items, value))


def is_integers(prop: Any) -> bool:
    """Return whether a property or parameter of RNA is an array of integers or flags."""
    return prop.type in ("INT", "BOOLEAN") and bool(prop.is_array)


_HOLDING = frozenset({list, tuple, str, bytes, set, frozenset})


def has_nan(value: Any) -> bool:
    """Return whether a plain number is NaN, or a sequence or dict of any size and depth contains one.

    For `as_plain` values. What else a script made may answer as it likes: Blender cannot ask it (`guard/reentry.py`).
    """
    kind = type(value)
    if kind is float:
        return bool(value != value)
    if kind in _PLAIN or kind in _TEXTS:
        return False
    if isinstance(value, dict):
        return any(map(has_nan, dict.values(value)))
    if not hasattr(kind, "__len__"):
        return bool(value != value)
    if hasattr(kind, "dtype"):  # an array of numpy's, also of one number
        return bool((value != value).any())
    return not are_finite(value) and any(map(has_nan, value))


def are_finite(values: Any) -> bool:
    """Return True if all items are plain numbers whose sum shows that none is NaN: adding is quicker than comparing."""
    if not _NUMBERS.issuperset(map(type, values)):
        return False
    try:
        total = sum(values)
    except OverflowError:  # an integer that is no float
        return False
    return bool(total == total)


_TEXTS = frozenset({bytes, bytearray})


def numbers_to_read(values: Any, function: str) -> Any:
    """Return plain numbers in a list, or an array, which `foreach_set` may read.

    Blender reads the items of a sequence without a check whether reading them failed.

    Raises:
        TypeError: an item is no number, or `values` is not iterable.
    """
    if hasattr(values, "typecode") or hasattr(values, "dtype"):
        return values
    plain = values if type(values) in (list, tuple) else list(values)
    for at, value in enumerate(plain) if not _NUMBERS.issuperset(map(type, plain)) else ():
        if isinstance(value, str) or not (
            hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
        ):
            raise TypeError(f"{function}() takes numbers: item {at} is a {type(value).__name__}")
    return plain if _NUMBERS.issuperset(map(type, plain)) else [float(value) for value in plain]


def place_to_write(values: Any, function: str) -> Any:
    """Return the list or array to which `foreach_get` may write.

    Raises:
        TypeError: it is anything else.
    """
    if type(values) is not list and not hasattr(values, "typecode") and not hasattr(values, "dtype"):
        raise TypeError(f"{function}() takes a list or an array to write to, not a {type(values).__name__}")
    return values


_NUMBERS = frozenset({int, float, bool})


def all_as_plain(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return all arguments of a call as plain values, by `as_plain`."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if not _AS_IT_IS[kind] and not (
            (kind is list or kind is tuple) and _PLAIN.issuperset(map(type, value))
        ):
            break
    else:
        return args, kwargs
    return tuple(map(as_plain, args)), {key: as_plain(value) for key, value in kwargs.items()}


_AS_IT_IS = PerType(
    lambda kind: (kind in _PLAIN and kind is not str) or issubclass(kind, bpy.types.bpy_struct),
    bpy.types.bpy_struct,
)
"""Whether `as_plain` returns every value of a type unchanged."""
