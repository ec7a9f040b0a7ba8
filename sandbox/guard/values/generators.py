# SPDX-License-Identifier: GPL-3.0-or-later
"""The generators and other iterators that a script has made, and how long they live."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from itertools import compress
from types import GeneratorType
from typing import Any, Final

from ..meter import Meter

__all__ = ("Generators",)

_MOST: Final = 5_000
_ALONE: Final = next(sys.getrefcount(each[0]) for each in [[object()]])
"""What `sys.getrefcount` says of what nothing but one list refers to."""


class Generators:
    """Those of one run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._alive: weakref.WeakSet[Iterator[Any]] = weakref.WeakSet()
        self._lasting: list[GeneratorType[Any, Any, Any]] = []
        self._most_lasting = 64

    def count_generator(self, made: Iterator[Any]) -> Iterator[Any]:
        """A generator, counted while it is alive.

        Iterators inside iterators are freed by recursion in C, which overflows the stack from Python 3.12 on when
        they are many; so only so many may be alive at once.
        """
        self._alive.add(made)
        if len(self._alive) > _MOST:
            self._meter.exceed(f"more than {_MOST:,} iterators at once", limit="sequence")
        return made

    def count_lasting_generator(self, made: GeneratorType[Any, Any, Any]) -> Iterator[Any]:
        """As `count_generator`, for a generator that does something when it is thrown away: kept until the run ends.

        Its `finally` would run in the midst of whatever let go of it, Blender's code or the guards'.
        """
        known = self._lasting
        if len(known) >= self._most_lasting:
            used = [known[i].gi_suspended or sys.getrefcount(known[i]) > _ALONE for i in range(len(known))]
            self._lasting = [*compress(known, used)]
            self._most_lasting = max(64, 2 * len(self._lasting))
        self._lasting.append(made)
        return self.count_generator(made)
