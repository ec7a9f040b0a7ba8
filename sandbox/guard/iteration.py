# SPDX-License-Identifier: GPL-3.0-or-later
"""The builtins that iterate: each item that C code reads ticks, and iterators are counted while they live."""

from __future__ import annotations

import builtins
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..language import hooks
from ..language.builtin_methods import CALLING_BUILTINS
from .reentry import calls_anything, may_call_scripts
from .seam import Guard
from .values.generators import Generators

__all__ = ("Iteration",)

_NOTHING: Final = object()
_NUMBERS: Final = frozenset({int, float, bool})
_CALLING: Final = frozenset(id(getattr(builtins, name)) for name in CALLING_BUILTINS)
"""By identity: a function of a script may have a hash of its own."""
Function = Callable[..., Any]


class Iteration:
    """Guarded `zip`, `map`, `sorted`, `sum`, … of one run."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.generators = Generators(guard.meter)
        self.count_generator = self.generators.count_generator
        self.count_lasting_generator = self.generators.count_lasting_generator

    @calls_anything
    def ticking(self, function: Any) -> Any:
        """Return a callback for C code that ticks: the script's own functions tick by themselves."""
        if function is None or (
            isinstance(function, types.FunctionType) and function.__globals__ is self._guard.namespace
        ):
            return function
        tick = self._guard.meter.tick

        def call(*arguments: Any) -> Any:
            tick()
            return function(*arguments)

        return call

    def called(self, function: Any) -> Any:
        """Return a function for C code that calls it for each item, such as `map`.

        Python's own builtins may ask methods of a script's classes, as in `map(float, values)`. Any other C function
        gets a frame without permission: `map(vector.dot, …)` would run `__float__()` in the midst of Blender's work.
        """
        return function if id(function) in _CALLING else self.ticking(function)

    def ticked(self, iterator: Iterator[Any]) -> Iterator[Any]:
        """Return the iterator with a tick for each item."""
        return self.count_generator(self._ticking(iterator))

    def unpacked(self, value: Any) -> Any:
        """Return an iterable to unpack into variables: an iterator's items are kept while the others are read."""
        drawn = hasattr(type(value), "__next__") or type(value) in self._guard.own
        return map(self._guard.namespace[hooks.KEEP], value) if drawn else value

    def _until(self, function: Function, sentinel: Any) -> Iterator[Any]:
        keep = self._guard.namespace[hooks.KEEP]
        return self.ticked(iter(lambda: keep(function()), sentinel))

    def _ticking(self, iterator: Iterator[Any]) -> Iterator[Any]:
        namespace, stop = self._guard.namespace, self._guard.meter.stop
        for item in itertools.islice(iterator, self._guard.meter.limits.sequence):
            if not namespace[hooks.RUNNING]:
                stop()
            yield item
        for _ in iterator:
            self._guard.meter.exceed("an iterator gave more items than the limit allows", limit="sequence")

    def enumerate(self, items: Any, start: Any = 0) -> Iterator[tuple[int, Any]]:
        """Return `enumerate(items, start)` with a tick for each item."""
        return self.ticked(enumerate(self._guard.iterated(items), start))

    def zip(self, *items: Any, strict: Any = False) -> Iterator[Any]:
        """Return `zip(…)` with a tick for each item."""
        return self.ticked(zip(*map(self._guard.iterated, items), strict=bool(strict)))

    def map(self, function: Any, *items: Any) -> Iterator[Any]:
        """Return `map(function, …)` with a tick for each item."""
        drawn = [self._guard.iterated(each) for each in items]
        function = self.called(function)
        return self.ticked(
            map(function, *drawn)
            if len(drawn) == 1
            else itertools.starmap(function, zip(*drawn, strict=False))
        )

    def filter(self, function: Any, items: Any) -> Iterator[Any]:
        """Return `filter(function, items)` with a tick for each item that it reads or returns."""
        return self.ticked(filter(self.called(function), self.ticked(iter(self._guard.iterated(items)))))

    def reversed(self, items: Any) -> Iterator[Any]:
        """Return `reversed(items)` with a tick for each item."""
        return self.ticked(reversed(items))

    def iter(self, items: Any, sentinel: Any = _NOTHING) -> Iterator[Any]:
        """Return `iter(items)`, or `iter(function, sentinel)` with a tick for each item."""
        return iter(self._guard.iterated(items)) if sentinel is _NOTHING else self._until(items, sentinel)

    def sorted(self, items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
        """Return `sorted(items, key, reverse)` after a check of how much is compared."""
        result = list(items)
        self.sort(result, key, reverse)
        return result

    def sort(self, items: list[Any], key: Any, reverse: Any) -> None:
        """Sort a list in place after a check of how much is compared."""
        if key is None:
            self._guard.operators.sortable(items)
            items.sort(reverse=reverse)
            return
        keys, shown = (
            self._keys(items, key),
            [*items],
        )  # a list that is being sorted looks empty to the collector
        items.sort(key=lambda _item: next(keys), reverse=reverse)
        shown.clear()

    def _keys(self, items: Any, key: Function) -> Iterator[Any]:
        keys = list(map(self.ticking(key), items))
        self._guard.operators.sortable(keys)
        return iter(keys)

    def min(self, *values: Any, **named: Any) -> Any:
        """Return `min(…)` after a check of how much is compared."""
        if not named and len(values) > 1 and _NUMBERS.issuperset(map(type, values)):
            return min(values)
        return self._extreme(min, values, named)

    def max(self, *values: Any, **named: Any) -> Any:
        """Return `max(…)` after a check of how much is compared."""
        if not named and len(values) > 1 and _NUMBERS.issuperset(map(type, values)):
            return max(values)
        return self._extreme(max, values, named)

    def _extreme(self, function: Function, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if len(values) == 1:
            values = (values[0] if type(values[0]) in (list, tuple) else list(values[0]),)
        compared = values[0] if len(values) == 1 else values
        key = named.get("key")
        if key is None:
            self._guard.operators.sortable(compared)
        else:
            keys = self._keys(compared, key)
            named["key"] = lambda _item: next(keys)
        return function(*values, **named)

    def sum(self, items: Any, start: Any = 0) -> Any:
        """Return `sum(items, start)`: Python adds numbers itself, everything else is added by the guarded `+`."""
        if type(start) in (int, float):
            items = items if type(items) in (list, tuple) else list(items)
            if _NUMBERS.issuperset(map(type, items)):
                return sum(items, start)
        add = self._guard.operators.add
        if isinstance(start, str | bytes):
            return sum(items, start)
        for item in self.ticked(iter(self._guard.iterated(items))):
            start = add(start, item)
        return start


may_call_scripts(globals())
