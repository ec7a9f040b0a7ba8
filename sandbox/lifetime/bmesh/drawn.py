# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps loops over the vertices, edges or faces of a BMesh safe while the script adds and removes elements.

Blender's own iterator walks through the memory of the elements: it skips elements that were removed, and reaches
elements that were added further on. It is not safe, because Blender frees that memory with the last element. So a loop
runs over a list, and whenever elements were added or removed, the rest of the list is replaced by the elements that
Blender's own iterator would still reach.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ("MeshLoops", "place_of")

_WORD = 1 << 64


class _Loop(NamedTuple):
    elements: Any
    """The sequence, such as `bm.edges`."""
    drawn: list[Any]
    iterator: Iterator[Any]

    def left(self) -> int:
        """Return how many items are still to come."""
        return self.iterator.__length_hint__()


class MeshLoops:
    """The loops of one run that may still go on."""

    def __init__(self) -> None:
        self.loops: list[_Loop] = []
        self._here: list[tuple[_Loop, int]] = []
        """The loops that go on, each with the address of its current element."""

    def draw(self, elements: Any) -> Iterator[Any]:
        """Return an iterator over a list of `elements`, and remember it as a loop."""
        drawn = list(elements)
        iterator = iter(drawn)
        self.loops = [loop for loop in self.loops if _goes_on(loop)]
        self.loops.append(_Loop(elements, drawn, iterator))
        return iterator

    def before(self) -> None:
        """Note the current element of each loop, before a step that may add or remove elements."""
        if self.loops:
            self.loops = [loop for loop in self.loops if _goes_on(loop)]
            self._here = [(loop, place_of(_current(loop))) for loop in self.loops]

    def after(self) -> None:
        """Renew the rest of each loop, after a step that may have added or removed elements."""
        here, self._here = self._here, []
        for loop, address in here:
            _renew(loop, address)


def _goes_on(loop: _Loop) -> bool:
    # the references of the loop itself, and of the call below
    return loop.left() > 0 and sys.getrefcount(loop.iterator) > _ALONE


_ALONE = next(sys.getrefcount(loop.iterator) for loop in [_Loop(None, [], iter([]))])


def _current(loop: _Loop) -> Any:
    at = len(loop.drawn) - loop.left() - 1
    return loop.drawn[at] if at >= 0 else None


def place_of(element: Any) -> int:
    """Return the address of a BMesh element: its hash is the address with the last four bits in front."""
    number = hash(element) % _WORD
    return (number << 4 | number >> 60) % _WORD


def _renew(loop: _Loop, address: int) -> None:
    """Put the elements that come after the current element, which lay at `address`, into the loop's list."""
    elements, drawn, _iterator = loop
    at = len(drawn) - loop.left()
    try:
        now = list(elements)
    except ReferenceError:  # the whole mesh was freed: each element raises an error
        return
    before = next((each for each in reversed(drawn[:at]) if each.is_valid), None)
    behind = next((each for each in drawn[at:] if each.is_valid), None)
    last = -1 if before is None else now.index(before)
    first = len(now) if behind is None else now.index(behind)
    if at and before is drawn[at - 1]:
        first = last + 1
    else:  # the current element is gone, and new elements may lie before and after its place
        first = next((place for place in range(last + 1, first) if place_of(now[place]) > address), first)
    drawn[at:] = now[first:]
