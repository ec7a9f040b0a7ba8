# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script holds: every value of some types that it could still use.

Python's garbage collector knows most of it: what existed before the run is frozen out of its sight, so that it shows
only what the script made. It does not track Blender's collections, arrays and functions, nor dicts and tuples of
nothing but these: they are found in what holds them, in the script's variables, in those of the guards that called
it, and among what `keep` was given. What the interpreter's stack holds meanwhile, the transformer puts into variables
(`language.holding`).
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import compress
from operator import not_
from typing import Any

from ...base.per_type import PerType
from ..guard.audit import may_raise

__all__ = ("ALONE", "Held")

#: What `sys.getrefcount` says of what nothing but one list refers to.
ALONE = next(sys.getrefcount(each[0]) for each in [[object()]])
_UNTRACKED = frozenset({tuple, dict})
_HAVE_GC = 1 << 14
"""Py_TPFLAGS_HAVE_GC."""


class Held:
    """Finds what the script of one run holds. `open` before it runs, `close` after it."""

    def __init__(self) -> None:
        self._variables: dict[str, Any] = {}
        self._given = 0
        self._kept: list[Any] = []
        self._most = 64
        self._moment: PerType[bool] | None = None
        self._seen: Collection[Any] | None = None

    def open(self, variables: dict[str, Any]) -> None:
        """From now on the collector shows only what the script makes; `variables` are its globals."""
        self._variables = variables
        # What is there already stays first: these names no script can bind or delete.
        self._given = len(variables)
        gc.freeze()

    def close(self) -> None:
        """Give the collector everything back."""
        gc.unfreeze()
        self._kept.clear()

    def keep(self, value: Any) -> Any:
        """Return `value`, which only the interpreter's stack is about to hold while more code of the script runs."""
        if not gc.is_tracked(value) and (type(value) in _UNTRACKED or not type(value).__flags__ & _HAVE_GC):
            if len(self._kept) >= self._most:
                kept = self._kept
                self._kept = [*compress(kept, [sys.getrefcount(kept[i]) > ALONE for i in range(len(kept))])]
                self._most = max(64, 2 * len(self._kept))
            self._kept.append(value)
        return value

    @contextlib.contextmanager
    def one_moment(self, wanted: PerType[bool]) -> Iterator[None]:
        """Nothing of the script runs inside, so one search, for all of `wanted`, does for what else is looked for."""
        self._moment = wanted
        try:
            yield
        finally:
            self._moment = self._seen = None

    def find(self, wanted: PerType[bool]) -> Collection[Any]:
        """All values that the script holds of the types for which `wanted` says True."""
        if self._moment is None:
            return self._search(wanted)
        if self._seen is None:
            self._seen = self._search(self._moment)
        return [value for value in self._seen if wanted[type(value)]]

    @may_raise("gc.get_objects", "gc.get_referents", "sys._getframe")
    def _search(self, wanted: PerType[bool]) -> Collection[Any]:
        variables = self._variables
        found = gc.get_objects()
        found += gc.get_referents(*found)
        found += [*variables.values()][self._given :]
        found += self._kept
        frame, inside = sys._getframe(1), False
        while frame is not None:
            if frame.f_globals is variables:
                inside = True  # of what follows, guards that called the script hold what it gave them
                if frame.f_locals is variables:
                    break  # the module's own, below which nothing is the script's
            if inside:
                found += frame.f_locals.values()
            frame = frame.f_back  # type: ignore[assignment]
        held: dict[int, Any] = {}
        while found:  # most of it is numbers and texts: what goes through all of it is written in C
            kinds = [*map(type, found)]
            asked = {kind for kind in set(kinds) if wanted[kind]}
            held |= _by_id(compress(found, map(asked.__contains__, kinds)))
            # tuples and dicts that the collector lets go of, as it does of their items
            inner = [*compress(found, map((_UNTRACKED - asked).__contains__, kinds))]
            loose = _by_id(compress(inner, map(not_, map(gc.is_tracked, inner))))
            found = gc.get_referents(*loose.values()) if loose else []
        return held.values()


def _by_id(values: Iterable[Any]) -> dict[int, Any]:
    listed = [*values]
    return dict(zip(map(id, listed), listed, strict=True))
