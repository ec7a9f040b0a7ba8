# SPDX-License-Identifier: GPL-3.0-or-later
"""Cache the answer to a question about a type, one answer for each type."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ("PerType", "forget", "is_static", "passing")

T = TypeVar("T")
_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE."""


def is_static(kind: type) -> bool:
    """Whether a type is compiled into a program. A class of a script never is."""
    return not kind.__flags__ & _HEAP_TYPE


def _lasts(kind: type) -> bool:
    """Whether a type exists until the program ends: it is compiled in, or its module can be imported and has it."""
    module = sys.modules.get(kind.__module__) if type(kind.__module__) is str else None
    return is_static(kind) or getattr(module, "__dict__", {}).get(kind.__name__) is kind


class PerType(dict[type, T]):
    """Maps each type to the result of `test`; `kinds[kind]` calls `test` for a new type. All runs share one instance.

    `kinds.test(kind)` asks without storing the result. A result must stay true for the whole life of its type. When a
    run ends, `forget` removes types that neither exist until the program ends nor derive from `lasting`: they may be
    classes of the script, and nothing should keep those
    alive.
    """

    def __init__(self, test: Callable[[type], T], lasting: type | tuple[type, ...] = ()) -> None:
        super().__init__()
        self.test = test
        self._lasting = lasting

    def __missing__(self, kind: type) -> T:
        answer = self[kind] = self.test(kind)
        if not _lasts(kind) and not issubclass(kind, self._lasting):
            passing.append((self, kind))
        return answer


passing: list[tuple[PerType[Any], type]] = []
"""The entries that `forget` removes."""


def forget() -> None:
    """Remove the entries of types that end with a run. Call it when a run has ended."""
    while passing:
        kinds, kind = passing.pop()
        kinds.pop(kind, None)
