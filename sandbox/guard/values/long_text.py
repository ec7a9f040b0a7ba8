# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures how many characters C code compares where it compares one text with many: in one call, and each anew."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any, Final

from ..reentry import may_call_scripts

__all__ = ("TEXTS", "characters", "searched")

TEXTS: Final = frozenset({str, bytes})
_COMPARED: Final = (str, bytes, bytearray)
_TOGETHER: Final = 10
"""How many characters are compared in the time of one item."""
_SHORT: Final = 100
"""The fewest characters of a long text: to compare fewer with ten million texts takes no second."""
_FOUND_BY_HASH: Final[tuple[type, ...]] = (
    str,
    bytes,
    dict,
    set,
    frozenset,
    type({}.keys()),
    type({}.items()),
)
_IN_ROWS: Final[tuple[Any, ...]] = (list, tuple, collections.deque, type({}.values()))


def characters(items: Iterable[Any]) -> int:
    """Return how much the texts among items weigh in a comparison with one another."""
    return sum(len(each) for each in items if type(each) in TEXTS) // _TOGETHER


def searched(value: Any, items: Any) -> tuple[Any, int]:
    """Return `items`, in which `value` is searched, and how much the comparisons weigh.

    Texts of different lengths are different at once. An iterator is read first.
    """
    if type(value) not in TEXTS or len(value) < _SHORT or isinstance(items, _FOUND_BY_HASH):
        return items, 0
    if hasattr(type(items), "__next__"):
        items = list(items)
    rows: Any = items
    if not isinstance(rows, _IN_ROWS):
        return items, 0
    length = len(value)
    alike = len([each for each in rows if isinstance(each, _COMPARED) and len(each) == length])
    return items, alike * length // _TOGETHER


may_call_scripts(globals())
