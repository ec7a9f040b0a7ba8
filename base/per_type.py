# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions about types, asked once for each type."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ("PerType", "forget", "is_static", "passing")

T = TypeVar("T")
_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE."""


def is_static(kind: type) -> bool:
    """Whether a type is compiled into a program: no class of a script is."""
    return not kind.__flags__ & _HEAP_TYPE


def _lasts(kind: type) -> bool:
    """Whether a type is for as long as the program runs: compiled into it, or to be imported where it says."""
    module = sys.modules.get(kind.__module__) if type(kind.__module__) is str else None
    return is_static(kind) or getattr(module, "__dict__", {}).get(kind.__name__) is kind


class PerType(dict[type, T]):
    """The answer of `test` by type; `kinds[kind]` asks where it is not known. All runs share one.

    What is said of a type has to hold for as long as the type lives. Types that are not `lasting` are forgotten when
    a run ends: they may be the script's, which nothing should hold on to.
    """

    def __init__(self, test: Callable[[type], T], lasting: type | tuple[type, ...] = ()) -> None:
        super().__init__()
        self._test = test
        self._lasting = lasting

    def __missing__(self, kind: type) -> T:
        answer = self[kind] = self._test(kind)
        if not _lasts(kind) and not issubclass(kind, self._lasting):
            passing.append((self, kind))
        return answer


passing: list[tuple[PerType[Any], type]] = []
"""What `forget` lets go of."""


def forget() -> None:
    """A run is over: let go of what does not last."""
    while passing:
        kinds, kind = passing.pop()
        kinds.pop(kind, None)
