# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the generators and other iterators that a script has made, while they live."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator
from itertools import compress
from types import GeneratorType
from typing import Any, Final

from ..meter import Meter, ScriptStopped

__all__ = ("Generators",)

_MOST_ALIVE: Final = 5_000
_UNCOUNTED: Final = 1_000
"""How many a script may make before those that are alive are counted again."""
_ALONE: Final = next(sys.getrefcount(each[0]) for each in [[object()]])
"""The result of `sys.getrefcount` for an object to which only one list refers."""


class Generators:
    """The generators and other iterators of one run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._noted: list[weakref.ref[Iterator[Any]]] = []
        self._next_count = _UNCOUNTED
        self._lasting: list[GeneratorType[Any, Any, Any]] = []
        self._most_lasting = 64

    def count_generator(self, made: Iterator[Any]) -> Iterator[Any]:
        """Count an iterator while it is alive, and return it.

        Python frees iterators inside iterators by recursion in C, which from Python 3.12 on overflows the stack if
        there are many; so only a limited number may be alive at once.
        """
        noted = self._noted
        noted.append(weakref.ref(made))
        if len(noted) > self._next_count:
            noted[:] = [each for each in noted if each() is not None]
            self._next_count = len(noted) + _UNCOUNTED
            if len(noted) > _MOST_ALIVE:
                self._meter.exceed(f"more than {_MOST_ALIVE:,} iterators at once", limit="sequence")
        return made

    def count_lasting_generator(self, made: GeneratorType[Any, Any, Any]) -> Iterator[Any]:
        """Count a generator that runs code when it is discarded, keep it until the run ends, and return it.

        Its `finally` would run in the middle of the code that discarded it: Blender's or the guards'.
        """
        known = self._lasting
        if len(known) >= self._most_lasting:
            used = [known[i].gi_suspended or sys.getrefcount(known[i]) > _ALONE for i in range(len(known))]
            self._lasting = [*compress(known, used)]
            self._most_lasting = max(64, 2 * len(self._lasting))
        self._lasting.append(made)
        return self.count_generator(made)

    def close(self) -> None:
        """Close the generators that were kept, when the run is over: each stops where it waits, and runs nothing.

        As when Python discards a generator, an error of a context that it leaves has no effect.
        """
        while self._lasting:
            with contextlib.suppress(Exception, ScriptStopped):
                self._lasting.pop().close()
