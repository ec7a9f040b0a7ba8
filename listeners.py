# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that want to be told of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

__all__ = ("Listeners",)

P = ParamSpec("P")


class Listeners(Generic[P]):
    """Told in the order in which they were added. Any thread may add, end and tell."""

    def __init__(self) -> None:
        # Each step on a dict is one step for other threads too, so that no lock is held while somebody is told.
        self._functions: dict[object, Callable[P, object]] = {}

    def add(self, function: Callable[P, object]) -> Callable[[], None]:
        """Have `function` told from now on. Gives what ends that; to call it twice does no harm."""
        key = object()
        self._functions[key] = function

        def stop() -> None:
            self._functions.pop(key, None)

        return stop

    def tell(self, *arguments: P.args, **named: P.kwargs) -> None:
        """Call every function, on this thread."""
        for function in tuple(self._functions.values()):
            function(*arguments, **named)

    def clear(self) -> None:
        """Forget them all."""
        self._functions.clear()
