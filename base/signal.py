# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals: code connects functions to a signal, and `emit` calls all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

__all__ = ("Signal",)

P = ParamSpec("P")


class Signal(Generic[P]):
    """Functions to call, in the order in which they were connected. Any thread may connect, disconnect and emit."""

    def __init__(self) -> None:
        # Each operation on a dict is atomic, so that no lock is held while a function runs.
        self._functions: dict[object, Callable[P, object]] = {}

    def connect(self, function: Callable[P, object]) -> Callable[[], None]:
        """Call `function` at each `emit`. Returns a function that disconnects it and may be called more than once."""
        key = object()
        self._functions[key] = function

        def stop() -> None:
            self._functions.pop(key, None)

        return stop

    def emit(self, *arguments: P.args, **named: P.kwargs) -> None:
        """Call every connected function on this thread."""
        for function in tuple(self._functions.values()):
            function(*arguments, **named)

    def clear(self) -> None:
        """Disconnect all functions."""
        self._functions.clear()
