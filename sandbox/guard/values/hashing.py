# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks what is hashed before C code hashes it: nothing can interrupt that one call.

Two things make hashing slow. Tuples of tuples hash everything that they unfold to. And values with equal hashes are
compared with one another, so that a set of many takes the square of their number (`i * (2**61 - 1)` is 0 to Python for
every i). Scripts meet a plain `set`, `dict` or method of these only where they write a call of it, and there the
transformer has the argument checked; everywhere else they get what `guarded` and `Hashing.method` make.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...language.builtin_methods import CHANGING_SETS, HASHING
from ..reentry import may_call_scripts
from . import deep_nesting
from .plain import SCALAR_TYPES
from .weight import EMPTY_INSIDE

if TYPE_CHECKING:
    from ..operators import Operators

__all__ = ("ALIKE", "Hashing")

ALIKE: Final = 64
"""The most different values with one and the same hash."""
_WORK: Final = 20_000_000
"""How many comparisons are allowed without a check: fewer take no time."""
_INTEGERS: Final = sys.hash_info.modulus
"""Integers nearer to 0 than this have themselves as hash."""
_SCATTERED: Final = SCALAR_TYPES - {int, complex, range}
"""Types of which at most a few dozen values have equal hashes, or whose hashes differ in every process."""
_PLAIN_HASH: Final[object] = object.__hash__
_DRAWN: Final[tuple[type, ...]] = (deep_nesting.deque, type({}.keys()), type({}.values()), type({}.items()))


def _as_its_base(kind: type) -> bool:
    """Return whether a class of the script iterates over its items as the list, set, … from which it derives."""
    return any(issubclass(kind, base) and kind.__iter__ is base.__iter__ for base in _BASES)


_BASES: Final = (list, tuple, set, dict)


class Hashing:
    """The checks of hashing of one run."""

    def __init__(self, operators: Operators, own: set[type]) -> None:
        self._operators = operators
        self._own = own
        self._sets = operators.sets

    def key(self, value: Any) -> Any:
        """Return `value` after a check that hashing it is little work."""
        kind = type(value)
        if EMPTY_INSIDE[kind] or (kind is tuple and SCALAR_TYPES.issuperset(map(type, value))):
            return value
        hashed: object = kind.__hash__
        # an unhashable value fails at once, except a set: to look it up in another set, Python makes it a frozenset
        never = hashed is None and not issubclass(kind, set)
        plain = never or hashed is _PLAIN_HASH
        if kind is tuple or kind is frozenset or not plain:
            self._operators.weight(value)
        return value

    def keys(self, values: Any) -> Any:
        """Return `values`, or a list of them, after a check that hashing the items (keys of pairs) is little work."""
        kind = type(values)
        if hasattr(kind, "__next__") or kind in _DRAWN:
            values = list(values)
        elif kind in self._own and not _as_its_base(kind):
            values = self._read_once(values)
        elif getattr(getattr(values, "dtype", None), "kind", "") == "c":
            values = list(values)
        if isinstance(values, list | tuple):
            self._check(values)
        return values

    def _read_once(self, values: Any) -> Any:
        """Return what the methods of a script's class return, read once, so that it cannot change after the check."""
        if hasattr(values, "keys"):
            return {self.key(key): values[key] for key in self.keys(values.keys())}
        return list(values)

    def _check(self, values: list[Any] | tuple[Any, ...]) -> None:
        kinds = set(map(type, values))
        empty = all(map(EMPTY_INSIDE.__getitem__, kinds))
        total = len(values) if empty else self._operators.weight(values)
        if total * len(values) < _WORK or _SCATTERED.issuperset(kinds):
            return
        if int in kinds and _SCATTERED.issuperset(kinds - {int}):
            numbers = values if len(kinds) == 1 else [each for each in values if type(each) is int]
            if min(numbers) > -_INTEGERS and max(numbers) < _INTEGERS:
                return
        pairs = [each[0] for each in values if isinstance(each, list | tuple) and len(each) == 2]
        if len(pairs) == len(values):
            self._check(pairs)
        try:
            hashes = list(map(hash, values))
        except TypeError:
            return  # pairs of a key and a list; if items are hashed, Python says what cannot be
        if len(set(hashes)) < len(hashes):
            self._compare(values, hashes)

    def _compare(self, values: list[Any] | tuple[Any, ...], hashes: list[int]) -> None:
        """Count the different values of each hash; stop the run if they are too many."""
        order = sorted(range(len(hashes)), key=hashes.__getitem__)
        for _, group in itertools.groupby(order, hashes.__getitem__):
            alike = list(group)
            different: list[Any] = []
            for position in alike if len(alike) > ALIKE else ():
                if values[position] not in different:
                    different.append(values[position])
                if len(different) > ALIKE:
                    self._operators.meter.exceed(
                        f"more than {ALIKE} different values with the same hash are over the limit: "
                        "a set or dict of them takes far too long",
                        limit="work",
                    )

    # The sets and dicts of scripts

    def function(self, kind: type) -> Callable[..., Any]:
        """Return a function that makes `kind(items)`, checked."""

        def make(*arguments: Any, **named: Any) -> Any:
            return kind(*map(self.keys, arguments), **named)

        make.__name__ = make.__qualname__ = kind.__name__
        return make

    def method(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method of a table as a function of the table and the arguments, checked."""
        look = self.key if plain.__name__ in HASHING else self.keys
        changes = plain.__name__ in CHANGING_SETS

        def method(table: Any, *arguments: Any, **named: Any) -> Any:
            self._operators.meter.tick()
            given = [look(value) for value in arguments]
            if isinstance(table, set):
                used = [table, *(each for each in given if isinstance(each, set))]
                return self._sets.use(used, plain, table, *given, changed=table if changes else None, **named)
            return plain(table, *given, **{name: look(value) for name, value in named.items()})

        return method

    def base(self, kind: type) -> type:
        """Return the base of a script's class instead of a set or dict: it also checks the construction."""
        keys, use = self.keys, self._sets.use

        def __init__(table: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
            given = [keys(each) for each in arguments]
            if kind is set:
                use((table,), set.__init__, table, *given, changed=table, **named)
            else:
                kind.__init__(table, *given, **named)  # type: ignore[misc]

        operators = self._sets.operators() if kind is set else {}
        return type(kind.__name__, (kind,), {"__init__": __init__, "__module__": "builtins", **operators})


may_call_scripts(globals())
