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

__all__ = ("ALONE", "UNTRACKED", "Held")

#: The result of `sys.getrefcount` for an object to which only one list refers.
ALONE = next(sys.getrefcount(each[0]) for each in [[object()]])
UNTRACKED = frozenset({tuple, dict})
"""The types of containers that the collector does not track while they hold only numbers, texts and the like."""
_HAVE_GC = 1 << 14
"""Py_TPFLAGS_HAVE_GC."""


class Held:
    """Finds what the script of one run holds. Call `open` before the script runs, `close` after it."""

    def __init__(self, searched: PerType[bool], opened: PerType[bool]) -> None:
        """`searched`: the types of all values that `find` may look for; `opened`: these and `UNTRACKED`."""
        self._searched, self._opened = searched, opened
        self._variables: dict[str, Any] = {}
        self._first = 0
        self._kept: list[Any] = []
        self._most = 64
        self._one_moment = False
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
        if not gc.is_tracked(value) and (type(value) in UNTRACKED or not type(value).__flags__ & _HAVE_GC):
            if len(self._kept) >= self._most:
                kept = self._kept
                self._kept = [*compress(kept, [sys.getrefcount(kept[i]) > ALONE for i in range(len(kept))])]
                self._most = max(64, 2 * len(self._kept))
            self._kept.append(value)
        return value

    def begin_moment(self) -> None:
        """Let `find` search only once until `end_moment`: no code of the script runs meanwhile.

        What the script holds stays the same, whatever Blender frees. A moment within another ends both.
        """
        self._one_moment = True

    def end_moment(self) -> None:
        """Let `find` search each time again."""
        self._one_moment, self._seen = False, None

    def find(self, wanted: PerType[bool]) -> list[Any]:
        """Return all values that the script holds of the types for which `wanted` is True."""
        seen = self._search() if self._seen is None else self._seen
        if self._one_moment:
            self._seen = seen
        return [value for value in seen if wanted[type(value)]]

    @may_raise("gc.get_objects", "gc.get_referents", "sys._getframe")
    def _search(self) -> Collection[Any]:
        variables, searched, opened = self._variables, self._searched.__getitem__, self._opened.__getitem__
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
        held = _by_id(compress(tracked, map(searched, map(type, tracked))))
        while found:  # most values are numbers and texts: C code leaves these out at once
            found = [*compress(found, map(opened, map(type, found)))]
            kinds = [*map(type, found)]
            held |= _by_id(compress(found, map(searched, kinds)))
            # the collector does not track these tuples and dicts, nor their items
            inner = [*compress(found, map(UNTRACKED.__contains__, kinds))]
            loose = _by_id(compress(inner, map(not_, map(gc.is_tracked, inner))))
            found = gc.get_referents(*loose.values()) if loose else []
        return held.values()


def _by_id(values: Iterable[Any]) -> dict[int, Any]:
    listed = [*values]
    return dict(zip(map(identity, listed), listed, strict=True))
