# SPDX-License-Identifier: GPL-3.0-or-later
"""`collections.Counter` for scripts: instances of Python's own accept attributes of any name."""

from __future__ import annotations

import operator
from collections import _count_elements  # type: ignore[attr-defined]
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, repeat, starmap
from typing import Any

from ..facade import Sealed
from ..reentry import may_call_scripts

__all__ = ("Counter",)


class Counter(dict, metaclass=Sealed):  # type: ignore[type-arg]
    """Counts how often each value occurs; a value that does not occur counts 0."""

    __slots__ = ()

    def __init__(self, items: Any = (), /, **named: int) -> None:
        dict.__init__(self)
        self.update(items, **named)

    def __missing__(self, _key: object) -> int:
        return 0

    def total(self) -> Any:
        """Return the sum of all counts."""
        return sum(self.values())

    def most_common(self, n: int | None = None) -> list[tuple[Any, Any]]:
        """Return pairs of value and count, the largest count first."""
        ordered = sorted(self.items(), key=operator.itemgetter(1), reverse=True)
        return ordered if n is None else ordered[: max(n, 0)]

    def elements(self) -> Iterator[Any]:
        """Return an iterator that repeats each value as often as it counts."""
        return chain.from_iterable(starmap(repeat, self.items()))

    def update(self, items: Any = (), /, **named: int) -> None:
        """Add counts: the values of a mapping, or 1 for each item of anything else."""
        self._count(items, named, 1)

    def subtract(self, items: Any = (), /, **named: int) -> None:
        """Subtract counts, below 0 too."""
        self._count(items, named, -1)

    def _count(self, items: Any, named: Mapping[str, int], sign: int) -> None:
        if isinstance(items, Mapping):
            for key, count in items.items():
                self[key] = self[key] + sign * count
        elif sign > 0 and items is not None:
            _count_elements(self, items)
        elif items is not None:
            for key in items:
                self[key] = self[key] - 1
        for key, count in named.items():
            self[key] = self[key] + sign * count

    def copy(self) -> Counter:
        """Return a copy."""
        return Counter(self)

    @classmethod
    def fromkeys(cls, _keys: Any, _value: Any = None) -> Any:
        """Raise NotImplementedError: Python's Counter refuses this call, too."""
        raise NotImplementedError("Counter.fromkeys() is undefined: use Counter(values)")

    def __delitem__(self, key: Any) -> None:
        if key in self:
            dict.__delitem__(self, key)

    def _with(self, other: Any, choose: Callable[[Any, Any], Any]) -> Any:
        if not isinstance(other, Counter):
            return NotImplemented
        made = Counter()
        for key in [*self, *(key for key in other if key not in self)]:
            count = choose(self[key], other[key])
            if count > 0:
                made[key] = count
        return made

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __or__(self, other: Any) -> Any:
        return self._with(other, max)

    def __and__(self, other: Any) -> Any:
        return self._with(other, min)

    def __iadd__(self, other: Any) -> Any:
        return self._replace(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._replace(self - other)

    def __ior__(self, other: Any) -> Any:
        return self._replace(self | other)

    def __iand__(self, other: Any) -> Any:
        return self._replace(self & other)

    def _replace(self, counts: Counter) -> Counter:
        self.clear()
        dict.update(self, counts)
        return self

    def __pos__(self) -> Any:
        return self + Counter()

    def __neg__(self) -> Any:
        return Counter() - self

    def __eq__(self, other: object) -> Any:
        return self._compare(other, operator.eq)

    __hash__ = None

    def __le__(self, other: Any) -> Any:
        return self._compare(other, operator.le)

    def __lt__(self, other: Any) -> Any:
        return self <= other and self != other

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, operator.ge)

    def __gt__(self, other: Any) -> Any:
        return self >= other and self != other

    def _compare(self, other: Any, compare: Callable[[Any, Any], bool]) -> Any:
        if not isinstance(other, Counter):
            return NotImplemented
        return all(compare(self[key], other[key]) for key in (*self, *other))

    def __repr__(self) -> str:
        if not self:
            return "Counter()"
        try:
            shown = dict(self.most_common())
        except TypeError:  # counts that cannot be compared
            shown = dict(self)
        return f"Counter({shown!r})"


may_call_scripts(globals())
