# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls functions on the server's event loop, from any thread; many calls at once wake the loop only once."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import Any

__all__ = ("LoopCalls",)

_log = logging.getLogger(__name__)


class LoopCalls:
    """The functions that one loop has to call. Create it on the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        #: What the next turn of the loop calls, in order, and whether the loop knows that there is something.
        self._next: deque[Callable[[], object]] = deque()
        self._woken = False

    def soon(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call `function` on the loop: at once if this is its thread, otherwise in its next turn."""
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self.in_next_turn(partial(function, *arguments))

    def in_next_turn(self, function: Callable[[], object]) -> None:
        """Call `function` in the next turn of the loop. Any thread."""
        self._next.append(function)
        if self._woken:
            return  # the loop has not begun to empty the queue yet
        self._woken = True
        try:
            # A context of its own, not that of this thread's work.
            self._loop.call_soon_threadsafe(self._call_all, context=Context())
        except RuntimeError:  # the loop is closed: no client is connected
            _log.debug("the server has stopped, %s is dropped", function)
            self._next.clear()

    def _call_all(self) -> None:
        self._woken = False  # before the queue is empty, so that nothing that comes later is left
        for _ in range(len(self._next)):
            try:
                self._next.popleft()()
            except Exception:  # the others have their turn after any error
                _log.exception("a call on the server's loop failed")
