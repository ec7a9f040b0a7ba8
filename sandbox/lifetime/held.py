# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what a script holds: every value of some types that it could still use.

Python's garbage collector knows most of these values: everything that existed before the run is frozen and hidden from
it, so that it shows only what the script made. It does not track Blender's collections, arrays and functions, nor dicts
and tuples that hold nothing else. These are found in the objects that hold them, in the variables of the script and of
the guards that called it, and among the values of `keep`. The transformer puts values that would be only on the
interpreter's stack into variables (`language.holding`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Iterable
from itertools import compress
from operator import not_
from typing import Any

from ...base.identity import identity
from ...base.per_type import PerType
from ..guard.audit import may_raise

__all__ = ("ALONE", "Held")

#: The result of `sys.getrefcount` for an object to which only one list refers.
ALONE = next(sys.getrefcount(each[0]) for each in [[object()]])
_UNTRACKED = frozenset({tuple, dict})
_HAVE_GC = 1 << 14
"""Py_TPFLAGS_HAVE_GC."""


class Held:
    """Finds what the script of one run holds. Call `open` before the script runs, `close` after it."""

    def __init__(self) -> None:
        self._variables: dict[str, Any] = {}
        self._first = 0
        self._kept: list[Any] = []
        self._most = 64
        self._moment: PerType[bool] | None = None
        self._seen: Collection[Any] | None = None

    def open(self, variables: dict[str, Any]) -> None:
        """Hide from the collector everything that exists before the script; `variables` are the script's globals."""
        self._variables = variables
        # The variables that exist already stay first: the script cannot bind or delete these names.
        self._first = len(variables)
        gc.freeze()

    def close(self) -> None:
        """Show the collector everything again."""
        gc.unfreeze()
        self._kept.clear()

    def keep(self, value: Any) -> Any:
        """Return `value`, and keep it if only the interpreter's stack would hold it while the script runs on."""
        if not gc.is_tracked(value) and (type(value) in _UNTRACKED or not type(value).__flags__ & _HAVE_GC):
            if len(self._kept) >= self._most:
                kept = self._kept
                self._kept = [*compress(kept, [sys.getrefcount(kept[i]) > ALONE for i in range(len(kept))])]
                self._most = max(64, 2 * len(self._kept))
            self._kept.append(value)
        return value

    def begin_moment(self, wanted: PerType[bool]) -> None:
        """Let `find` search once for all types of `wanted` until `end_moment`: no code of the script runs meanwhile.

        What the script holds stays the same, whatever Blender frees.
        """
        self._moment = wanted

    def end_moment(self) -> None:
        """Let `find` search each time again."""
        self._moment = self._seen = None

    def find(self, wanted: PerType[bool]) -> Collection[Any]:
        """Return all values that the script holds of the types for which `wanted` is True."""
        if self._moment is None:
            return self._search(wanted)
        if self._seen is None:
            self._seen = self._search(self._moment)
        return [value for value in self._seen if wanted[type(value)]]

    @may_raise("gc.get_objects", "gc.get_referents", "sys._getframe")
    def _search(self, wanted: PerType[bool]) -> Collection[Any]:
        variables = self._variables
        tracked = gc.get_objects()
        found = gc.get_referents(*tracked)
        found += [*variables.values()][self._first :]
        found += self._kept
        frame, inside = sys._getframe(1), False
        while frame is not None:
            if frame.f_globals is variables:
                inside = True  # from here on, frames are of guards that called the script and hold its values
                if frame.f_locals is variables:
                    break  # the frame of the script's module: nothing below it is the script's
            if inside:
                found += frame.f_locals.values()
            frame = frame.f_back  # type: ignore[assignment]
        held = _by_id(compress(tracked, map(wanted.__getitem__, map(type, tracked))))
        while found:  # most values are numbers and texts: C code does the work on all of them
            kinds = [*map(type, found)]
            held |= _by_id(compress(found, map(wanted.__getitem__, kinds)))
            # the collector does not track these tuples and dicts, nor their items
            inner = [*compress(found, map(_UNTRACKED.__contains__, kinds))]
            loose = _by_id(compress(inner, map(not_, map(gc.is_tracked, inner))))
            found = gc.get_referents(*loose.values()) if loose else []
        return held.values()


def _by_id(values: Iterable[Any]) -> dict[int, Any]:
    listed = [*values]
    return dict(zip(map(identity, listed), listed, strict=True))
