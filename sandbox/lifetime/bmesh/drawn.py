# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops over the vertices, edges or faces of a BMesh that change while they run.

Blender's own iterator walks through the memory of the elements: it passes over those that were removed, and comes to
those that were made further on. It is not safe, as that memory goes with the last element. So a loop draws from a list,
and whenever something has made or removed elements, what is left of the list becomes what is left for Blender's own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ("Drawn", "place_of")

_WORD = 1 << 64


class _Loop(NamedTuple):
    elements: Any
    """The sequence, `bm.edges`."""
    drawn: list[Any]
    iterator: Iterator[Any]

    def left(self) -> int:
        """How many items are still to come."""
        return self.iterator.__length_hint__()


class Drawn:
    """The loops of one run that may still go on."""

    def __init__(self) -> None:
        self._loops: list[_Loop] = []
        self._here: list[tuple[_Loop, int]] = []
        """The loops that go on, each with the address of the element that it is at."""

    def draw(self, elements: Any) -> Iterator[Any]:
        """Return what a loop over `elements` draws from."""
        drawn = list(elements)
        iterator = iter(drawn)
        self._loops = [loop for loop in self._loops if _goes_on(loop)]
        self._loops.append(_Loop(elements, drawn, iterator))
        return iterator

    def before(self) -> None:
        """Elements may be about to be made or removed."""
        if self._loops:
            self._loops = [loop for loop in self._loops if _goes_on(loop)]
            self._here = [(loop, place_of(_current(loop))) for loop in self._loops]

    def after(self) -> None:
        """They may have been."""
        here, self._here = self._here, []
        for loop, address in here:
            _renew(loop, address)


def _goes_on(loop: _Loop) -> bool:
    # the loop's own reference, and the one that the call below is given
    return loop.left() > 0 and sys.getrefcount(loop.iterator) > _ALONE


_ALONE = next(sys.getrefcount(loop.iterator) for loop in [_Loop(None, [], iter([]))])


def _current(loop: _Loop) -> Any:
    at = len(loop.drawn) - loop.left() - 1
    return loop.drawn[at] if at >= 0 else None


def place_of(element: Any) -> int:
    """Where an element of a BMesh lies. Blender hashes it by its address, whose last four bits Python puts in front."""
    number = hash(element) % _WORD
    return (number << 4 | number >> 60) % _WORD


def _renew(loop: _Loop, address: int) -> None:
    """Put what comes after the current element, which lay at `address`, into the list."""
    elements, drawn, _iterator = loop
    at = len(drawn) - loop.left()
    try:
        now = list(elements)
    except ReferenceError:  # the whole mesh went: each element says so
        return
    before = next((each for each in reversed(drawn[:at]) if each.is_valid), None)
    behind = next((each for each in drawn[at:] if each.is_valid), None)
    last = -1 if before is None else now.index(before)
    first = len(now) if behind is None else now.index(behind)
    if at and before is drawn[at - 1]:
        first = last + 1
    else:  # in the gap are new ones, before and behind the place of the one that is gone
        first = next((place for place in range(last + 1, first) if place_of(now[place]) > address), first)
    drawn[at:] = now[first:]
