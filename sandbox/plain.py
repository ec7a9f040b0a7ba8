# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain Python types: which of their attributes a script may use unguarded, decided when this module loads.

Everything public is allowed except what makes big values out of small ones (`str.zfill`, `list.extend`), walks
attributes by name (`str.format`), or calls back unticked (`list.sort`); `methods.py` holds guarded versions of those.
"""

from __future__ import annotations

import array
import collections
import datetime
import fractions
import operator
import types
from typing import Any, Final

from . import sturdy

__all__ = (
    "DRAWN_TYPES",
    "FLOATY_TYPES",
    "HASHING",
    "HASHING_ALL",
    "ITEM_TYPES",
    "PLAIN_METHODS",
    "PLAIN_TYPES",
    "SCALAR_TYPES",
    "SET_ITEM_TYPES",
    "SIMPLE_TYPES",
    "TABLE_TYPES",
    "whole",
)

TABLE_TYPES: Final[tuple[type, ...]] = (set, frozenset, dict, type({}.keys()), type({}.items()))
"""What holds hashed items, subclasses too."""
HASHING: Final = frozenset({"add", "discard", "get", "move_to_end", "pop", "remove", "setdefault"})
"""Methods of tables that hash their first argument."""
HASHING_ALL: Final = frozenset(
    {"fromkeys", "isdisjoint", "issubset", "issuperset", "subtract", "update", "union", "intersection"}
    | {"difference", "symmetric_difference", "intersection_update", "difference_update"}
    | {"symmetric_difference_update"}
)
"""Methods of tables that hash the items of their arguments."""

GUARDED: Final[dict[type, frozenset[str]]] = {
    str: frozenset(
        {
            "center",
            "encode",
            "expandtabs",
            "format",
            "format_map",
            "join",
            "ljust",
            "replace",
            "rjust",
            "translate",
            "zfill",
        }
    ),
    bytes: frozenset(
        {"center", "decode", "expandtabs", "join", "ljust", "replace", "rjust", "translate", "zfill"}
    ),
    list: frozenset({"extend", "sort", "count", "index", "remove"}),
    tuple: frozenset({"count", "index"}),
    int: frozenset({"to_bytes", "from_bytes"}),
    **dict.fromkeys((datetime.date, datetime.datetime, datetime.time), frozenset({"strftime"})),
    collections.Counter: frozenset({"elements", "most_common", "subtract"}),
    **{
        kind: frozenset(name for name in (HASHING | HASHING_ALL) if hasattr(kind, name))
        for kind in (*TABLE_TYPES, collections.OrderedDict)
    },
    collections.deque: frozenset({"extend", "extendleft", "count", "index", "remove"}),
    array.array: frozenset({"extend", "count", "index", "remove"}),
}
"""Public methods that need a guard, by type."""

_TYPES: Final[tuple[type, ...]] = (
    *(str, bytes, int, float, bool, complex, type(None), list, tuple, dict, set, frozenset, range, slice),
    *(type({}.keys()), type({}.values()), type({}.items())),
    *(sturdy.deque, collections.OrderedDict, sturdy.defaultdict, collections.Counter),
    *(
        datetime.date,
        datetime.datetime,
        datetime.time,
        datetime.timedelta,
        datetime.timezone,
        fractions.Fraction,
    ),
)


def _allowed(kind: type) -> frozenset[str]:
    guarded = frozenset().union(*(GUARDED.get(base, frozenset()) for base in kind.__mro__))
    return frozenset(name for name in dir(kind) if not name.startswith("_") and name not in guarded)


PLAIN_TYPES: Final[dict[type, frozenset[str]]] = {kind: _allowed(kind) for kind in _TYPES}
"""The attributes that need no guard, by exact type."""

PLAIN_METHODS: Final[dict[str, frozenset[str]]] = {
    kind.__name__: PLAIN_TYPES[kind] for kind in (str, int, float, list, tuple)
} | {kind.__name__: PLAIN_TYPES[kind] | GUARDED[kind] for kind in (dict, set)}
"""The same by the names that inference gives to kinds; of tables also what the transformer looks at in a call."""

SCALAR_TYPES: Final = frozenset(
    {int, float, bool, complex, str, bytes, type(None), range, datetime.date, datetime.datetime}
)
DRAWN_TYPES: Final = frozenset(
    {list, tuple, dict, set, frozenset, str, range, type({}.keys()), type({}.values()), type({}.items())}
)
SIMPLE_TYPES: Final = frozenset({int, float, bool, complex, type(None)})
FLOATY_TYPES: Final = frozenset({float, complex, type(None)})
ITEM_TYPES: Final = frozenset(
    {list, tuple, dict, str, bytes, range, types.MappingProxyType, sturdy.deque, collections.OrderedDict}
    | {sturdy.defaultdict, collections.Counter}
)
SET_ITEM_TYPES: Final = frozenset(
    {list, dict, sturdy.deque, collections.OrderedDict, sturdy.defaultdict, collections.Counter}
)


def whole(value: Any) -> Any:
    """What counts as an integer, as one: who looks at its size and who uses it must not be told different ones."""
    kind = type(value)
    if kind is int or kind is float:
        return value
    countable = hasattr(kind, "__index__") and (kind.__module__ == "<script>" or not hasattr(kind, "__len__"))
    return operator.index(value) if countable else value
