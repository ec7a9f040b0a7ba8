# SPDX-License-Identifier: GPL-3.0-or-later
"""One that changes tells others: they connect a function to its signal, and it emits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

__all__ = ("Signal",)

P = ParamSpec("P")


class Signal(Generic[P]):
    """Functions to call, in the order in which they were connected. Any thread may connect, stop and emit."""

    def __init__(self) -> None:
        # Each step on a dict is one step for other threads too, so that no lock is held while a function runs.
        self._functions: dict[object, Callable[P, object]] = {}

    def connect(self, function: Callable[P, object]) -> Callable[[], None]:
        """Call `function` at each `emit`, until the function that this gives is called, once or more often."""
        key = object()
        self._functions[key] = function

        def stop() -> None:
            self._functions.pop(key, None)

        return stop

    def emit(self, *arguments: P.args, **named: P.kwargs) -> None:
        """Call every function, on this thread."""
        for function in tuple(self._functions.values()):
            function(*arguments, **named)

    def clear(self) -> None:
        """Forget them all."""
        self._functions.clear()
