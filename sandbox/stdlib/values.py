# SPDX-License-Identifier: GPL-3.0-or-later
"""The script's view of `bisect`, `datetime`, `heapq` and `operator`, which work on values of any kind."""

from __future__ import annotations

import bisect
import datetime
import functools
import heapq
import operator
from collections.abc import Callable
from typing import Any

from ..guard.facade import seal
from ..guard.reentry import may_call_scripts
from ..guard.seam import Guard
from ..language import hooks

__all__ = (
    "bisect_members",
    "datetime_members",
    "heapq_members",
    "operator_members",
)

Members = dict[str, object]


def datetime_members(guard: Guard) -> Members:
    """Return the members of `datetime`, which limit the length of a time zone's name."""

    def timezone(offset: Any, *name: Any) -> datetime.timezone:
        if any(isinstance(each, str) and len(each) > 100 for each in name):
            raise ValueError("timezone() takes a name of at most 100 characters here")
        return datetime.timezone(offset, *name)

    return {"timezone": guard.builtins.add_facade(timezone, datetime.timezone)}


def operator_members(guard: Guard) -> Members:
    """Return the members of `operator`, which call the guards."""
    table = guard.operators.table()
    signs = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
    signs |= {"lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@"}
    members: Members = {name: table[hooks.OPERATOR.format(sign)] for name, sign in signs.items()}
    for name, sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        members[name] = functools.partial(guard.operators.compare, sign).__call__

    def itemgetter(*keys: Any) -> Callable[[Any], Any]:
        for key in keys:
            guard.hashing.key(key)
        if len(keys) == 1:
            return seal(lambda value: guard.getitem(value, keys[0]))
        return seal(lambda value: tuple(guard.getitem(value, key) for key in keys))

    def getitem(value: Any, key: Any) -> Any:
        return guard.getitem(value, guard.hashing.key(key))

    def contains(items: Any, value: Any) -> Any:
        return guard.operators.compare("in", guard.hashing.key(value), items)

    def follow(value: Any, path: Any) -> Any:
        for name in path.split(".") if type(path) is str else (path,):
            value = guard.get_named(value, name)
        return value

    def attrgetter(*paths: Any) -> Callable[[Any], Any]:
        if len(paths) == 1:
            return seal(lambda value: follow(value, paths[0]))
        return seal(lambda value: tuple(follow(value, path) for path in paths))

    signed = {"neg": "-x", "pos": "+x", "invert": "~x"}
    members |= {name: table[hooks.OPERATOR.format(sign)] for name, sign in signed.items()}
    members |= {name: getattr(operator, name) for name in "index is_ is_not not_ truth".split()}
    members["abs"] = guard.builtins.abs
    return (
        members
        | {"itemgetter": itemgetter, "attrgetter": attrgetter}
        | {
            "getitem": getitem,
            "contains": contains,
        }
    )


def bisect_members(guard: Guard) -> Members:
    """Return the members of `bisect`, which take lists."""

    def of_list(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(items: Any, value: Any, *bounds: Any, key: Any = None) -> Any:
            if not isinstance(items, list | tuple):
                raise TypeError("bisect takes a list here")
            guard.operators.sortable((value,))
            return function(items, value, *bounds, key=guard.builtins.ticking(key))

        return call

    names = ("bisect", "bisect_left", "bisect_right", "insort", "insort_left", "insort_right")
    return {name: of_list(getattr(bisect, name)) for name in names}


def heapq_members(guard: Guard) -> Members:
    """Return the members of `heapq`, for one run."""

    def with_item(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(heap: Any, item: Any) -> Any:
            guard.operators.sortable((item,))
            return function(heap, item)

        return call

    def heapify(heap: Any) -> None:
        guard.operators.sortable(heap)
        heapq.heapify(heap)

    def nlargest(n: Any, items: Any, key: Any = None) -> list[Any]:
        return guard.builtins.sorted(items, key=key, reverse=True)[: operator.index(n)]

    def nsmallest(n: Any, items: Any, key: Any = None) -> list[Any]:
        return guard.builtins.sorted(items, key=key)[: operator.index(n)]

    def less(first: Any, second: Any) -> Any:
        return guard.operators.compare("<", first, second)

    def heappop(heap: Any) -> Any:
        last = heap.pop()
        return replaced(heap, last) if heap else last

    def replaced(heap: Any, item: Any) -> Any:
        smallest, heap[0] = heap[0], item
        _sift_up(heap, less)
        return smallest

    def heapreplace(heap: Any, item: Any) -> Any:
        return replaced(_list(heap), item)

    def heappushpop(heap: Any, item: Any) -> Any:
        return replaced(heap, item) if _list(heap) and less(heap[0], item) else item

    return {
        "heappush": with_item(heapq.heappush),
        "heapreplace": heapreplace,
        "heappushpop": heappushpop,
        "heapify": heapify,
        "heappop": lambda heap: heappop(_list(heap)),
        "nlargest": nlargest,
        "nsmallest": nsmallest,
    }


def _list(heap: Any) -> Any:
    if not isinstance(heap, list):
        raise TypeError(f"heap argument must be a list, not {type(heap).__name__}")
    return heap


def _sift_up(heap: list[Any], less: Callable[[Any, Any], Any]) -> None:
    """Move the first item to its place, with the comparisons of Python's heapq: equal items keep its order."""
    end, place, item = len(heap), 0, heap[0]
    while (child := 2 * place + 1) < end:
        if child + 1 < end and not less(heap[child], heap[child + 1]):
            child += 1
        heap[place] = heap[child]
        place = child
    heap[place] = item
    while place:
        parent = (place - 1) >> 1
        if not less(item, heap[parent]):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = item


may_call_scripts(globals())
