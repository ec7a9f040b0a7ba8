# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls functions on the server's event loop, from any thread; many calls at once wake the loop only once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import Any

__all__ = ("LoopCalls",)

_log = logging.getLogger(__name__)


class LoopCalls:
    """The functions that one loop has to call. Create and close it on the loop's thread.

    Other threads wake the loop by a byte through a pair of sockets of this object. That takes both threads half the
    time of asyncio's `call_soon_threadsafe`, which reads until an error says that nothing is left. A loop that cannot
    watch a socket, such as Windows' default one, is woken by `call_soon_threadsafe`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        #: What the next turn of the loop calls, in order, and whether the loop knows that there is something.
        self._next: deque[Callable[[], object]] = deque()
        self._woken = False
        self._wake: Callable[[], object] = self._wake_by_asyncio
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        with contextlib.suppress(NotImplementedError):
            # A context of its own, not that of whoever starts the server.
            Context().run(loop.add_reader, self._reader, self._on_byte)
            self._wake = partial(self._writer.send, b"\0")

    def close(self) -> None:
        """Close the sockets. From then on `call_soon_threadsafe` wakes the loop, as long as it runs.

        Does nothing the second time: the server stops before its loop ends, and again when it ends.
        """
        if self._reader.fileno() == -1:
            return
        self._wake = self._wake_by_asyncio
        with contextlib.suppress(NotImplementedError):
            self._loop.remove_reader(self._reader)
        self._reader.close()
        self._writer.close()
        if self._next:
            self._wake()

    @property
    def waiting(self) -> bool:
        """Whether the next turn of the loop has something to call."""
        return bool(self._next)

    def soon(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call `function` on the loop: at once if this is its thread, otherwise in its next turn."""
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self.in_next_turn(partial(function, *arguments))

    def in_next_turn(self, function: Callable[[], object]) -> None:
        """Call `function` in the next turn of the loop. Any thread."""
        self._next.append(function)
        if self._loop.is_closed():  # no client is connected
            self._drop()
            return
        if self._woken:
            return  # the loop has not begun to empty the queue yet
        self._woken = True
        if threading.get_ident() == self._thread:
            self._loop.call_soon(self._call_all, context=Context())
            return
        try:
            self._wake()
        except OSError:  # the socket has just been closed
            self._wake_by_asyncio()

    def _wake_by_asyncio(self) -> None:
        try:
            # A context of its own, not that of this thread's work.
            self._loop.call_soon_threadsafe(self._call_all, context=Context())
        except RuntimeError:  # the loop has just been closed
            self._drop()

    def _drop(self) -> None:
        _log.debug("the server has stopped, %s are dropped", list(self._next))
        self._next.clear()

    def _on_byte(self) -> None:
        self._reader.recv(64)
        self._call_all()

    def _call_all(self) -> None:
        self._woken = False  # before the queue is empty, so that nothing that comes later is left
        for _ in range(len(self._next)):
            try:
                self._next.popleft()()
            except Exception:  # the others have their turn after any error
                _log.exception("a call on the server's loop failed")
