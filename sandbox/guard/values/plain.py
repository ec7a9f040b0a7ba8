# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain Python types: which of their attributes a script may use unguarded, decided when this module loads.

Everything public is allowed except what makes big values out of small ones (`str.zfill`, `list.extend`), reads
attributes by name (`str.format`), or calls back without a tick (`list.sort`); `methods.py` has guarded versions.
"""

from __future__ import annotations

import array
import collections
import datetime
import operator
import types
from typing import Any, Final

from ...language.builtin_methods import GUARDED_METHODS, HASHING, HASHING_ALL, plain_methods
from . import deep_nesting
from .counter import Counter
from .ordered_dict import OrderedDict

__all__ = (
    "ITEM_TYPES",
    "PLAIN_TYPES",
    "SAFE_TIMES",
    "SAFE_TO_ITERATE",
    "SCALAR_TYPES",
    "SET_ITEM_TYPES",
    "SIMPLE_TYPES",
    "drawn",
    "whole",
)

GUARDED: Final[dict[type, frozenset[str]]] = {
    **GUARDED_METHODS,
    **dict.fromkeys((datetime.date, datetime.datetime, datetime.time), frozenset({"strftime", "strptime"})),
    Counter: frozenset({"elements", "most_common", "subtract"}),
    OrderedDict: frozenset(name for name in (HASHING | HASHING_ALL) if hasattr(OrderedDict, name)),
    collections.deque: frozenset({"extend", "extendleft", "count", "index", "remove"}),
    array.array: frozenset({"extend", "fromlist", "count", "index", "remove"}),
}
"""Public methods that need a guard, by type."""

_TYPES: Final[tuple[type, ...]] = (
    *(str, bytes, int, float, bool, complex, type(None), list, tuple, dict, set, frozenset, range, slice),
    *(type({}.keys()), type({}.values()), type({}.items())),
    *(deep_nesting.deque, OrderedDict, deep_nesting.defaultdict, Counter),
    *(
        datetime.date,
        datetime.datetime,
        datetime.time,
        datetime.timedelta,
        datetime.timezone,
    ),
)


PLAIN_TYPES: Final[dict[type, frozenset[str]]] = {kind: plain_methods(kind, GUARDED) for kind in _TYPES}
"""The attributes that need no guard, by exact type."""

SCALAR_TYPES: Final[frozenset[type]] = frozenset(
    {int, float, bool, complex, str, bytes, type(None), range, datetime.date, datetime.datetime}
)
SAFE_TO_ITERATE: Final = frozenset(
    {list, tuple, dict, set, frozenset, str, range, type({}.keys()), type({}.values()), type({}.items())}
)
SIMPLE_TYPES: Final[frozenset[type]] = frozenset({int, float, bool, complex})
SAFE_TIMES: Final[frozenset[type]] = frozenset({float, complex})
_FLAT: Final = frozenset({int, float})
ITEM_TYPES: Final = frozenset(
    {
        list,
        tuple,
        dict,
        str,
        bytes,
        range,
        types.MappingProxyType,
        deep_nesting.deque,
        OrderedDict,
    }
    | {deep_nesting.defaultdict, Counter}
)
SET_ITEM_TYPES: Final = frozenset(
    {list, dict, deep_nesting.deque, OrderedDict, deep_nesting.defaultdict, Counter}
)


def drawn(values: Any) -> Any:
    """Return the values with each generator, also in nested lists, replaced by a list.

    C code would read from the generator while it goes through the list that holds it, which the generator may empty.
    """
    kind = type(values)
    if kind is types.GeneratorType:
        return list(map(drawn, values))
    if kind in (list, tuple) and not _FLAT.issuperset(kinds := set(map(type, values))):
        deeper = types.GeneratorType in kinds or list in kinds
        return list(map(drawn, values)) if deeper else values
    return values


def whole(value: Any) -> Any:
    """Return an integer-like value as an int: the check of its size and its use must see the same number."""
    kind = type(value)
    if kind is int or kind is float:
        return value
    countable = hasattr(kind, "__index__") and (kind.__module__ == "<script>" or not hasattr(kind, "__len__"))
    return operator.index(value) if countable else value
