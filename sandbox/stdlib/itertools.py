# SPDX-License-Identifier: GPL-3.0-or-later
"""`itertools` for scripts: each item that C code reads ticks."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from ..guard.facade import Facade, hide
from ..guard.reentry import may_call_scripts
from ..guard.seam import Guard
from ..guard.values.plain import whole

__all__ = ("itertools_members",)

Members = dict[str, object]


class _Chain(Facade):
    """The script's view of `itertools.chain`."""

    __slots__ = ("guard",)

    def __init__(self, guard: Guard) -> None:
        _set_guard(self, guard)

    def __call__(self, *items: Any) -> Iterator[Any]:
        return self.from_iterable(items)

    def from_iterable(self, items: Any) -> Iterator[Any]:
        """Return an iterator over the items of all iterables, as `itertools.chain.from_iterable` does."""
        guard: Guard = _guard(self)
        return guard.builtins.ticked(
            itertools.chain.from_iterable(map(guard.iterated, guard.iterated(items)))
        )


_guard, _set_guard = hide(_Chain, "guard")


def itertools_members(guard: Guard) -> Members:
    """Return the members of `itertools`, for one run."""
    ticked, ticking, called = guard.builtins.ticked, guard.builtins.ticking, guard.builtins.called

    def plain(function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
        def call(*arguments: Any, **named: Any) -> Iterator[Any]:
            return ticked(function(*arguments, **named))

        return call

    def accumulate(items: Any, func: Any = None, **named: Any) -> Iterator[Any]:
        return ticked(itertools.accumulate(items, called(func), **named))

    def starmap(function: Any, items: Any) -> Iterator[Any]:
        return ticked(itertools.starmap(called(function), items))

    def filtering(function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
        def call(test: Any, items: Any) -> Iterator[Any]:
            return ticked(function(called(test), ticked(iter(items))))

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
        drawn = ((guard.hashing.key(made(item)), item) for item in ticked(iter(items)))
        return ticked(_groups(drawn, ticked))

    def chosen(function: Callable[..., Any]) -> Callable[..., Any]:
        """Check sizes before `itertools` runs: its C code reserves memory for a whole choice, even if there is none."""

        def call(items: Any, r: Any = None, *rest: Any, **named: Any) -> Iterator[Any]:
            for size in (r, *named.values()):
                guard.operators.length(0 if size is None else operator.index(size))
            counts = () if r is None else (operator.index(r), *rest)
            return ticked(function(items, *counts, **{name: whole(part) for name, part in named.items()}))

        return call

    names = "count cycle pairwise repeat zip_longest"
    found = {name: getattr(itertools, name) for name in names.split() if hasattr(itertools, name)}
    members: Members = {name: plain(function) for name, function in found.items()}
    members |= {
        name: filtering(getattr(itertools, name)) for name in ("dropwhile", "filterfalse", "takewhile")
    }
    choices = ("batched", "combinations", "combinations_with_replacement", "permutations")
    members |= {name: chosen(getattr(itertools, name)) for name in choices if hasattr(itertools, name)}
    members |= {"islice": islice, "compress": compress, "product": product, "tee": tee, "groupby": groupby}
    members |= {"accumulate": accumulate, "starmap": starmap}
    drawing = {name: _drawing(guard, function) for name, function in members.items()}
    return {**drawing, "chain": _Chain(guard)}


def _groups(
    drawn: Iterator[tuple[Any, Any]], ticked: Callable[[Iterator[Any]], Iterator[Any]]
) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Yield what `itertools.groupby` yields: pairs of a key and the items in a row that have it.

    Python's own compares keys that it does not hold: a key's `__eq__` that draws the next group frees the other one.
    """
    pending = next(drawn, None)
    begun = 0

    def group(number: int, key: Any) -> Iterator[Any]:
        nonlocal pending
        while number == begun and pending is not None:
            other, item = pending
            if not (other is key or other == key) or number != begun:
                return
            pending = None  # if drawing the next item fails, there is none
            yield item
            if number == begun:
                pending = next(drawn, None)

    while pending is not None:
        begun += 1
        name = pending[0]
        current = group(begun, name)
        yield name, ticked(current)
        for _ in current:
            pass


def _drawing(guard: Guard, function: Any) -> Callable[..., Any]:
    """Wrap a function so that the guards iterate over its arguments."""
    return lambda *arguments, **named: function(*map(guard.iterated, arguments), **named)


may_call_scripts(globals())
