# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives connections turns, so that a connection that sends without a pause cannot block the others.

A connection with little data is served at once. A connection with more data than one turn waits in a queue: the queued
connections get one turn each, in a circle. While other connections are active, the queue pauses after each turn for a
multiple of that turn's time. So a flood of data, over any number of connections, gets a fixed part of the loop's time.
The rest is free for the other connections and for Blender's main thread, which needs the interpreter, too.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

__all__ = ("Clock", "Turns")

#: The pause after a turn, as a multiple of the turn's time, and the least pause in seconds.
REST_FACTOR = 3.0
LEAST_REST_S = 0.002
#: A connection counts as active for this many seconds after it was served.
ABOUT_S = 1.0

_log = logging.getLogger(__name__)


class Clock(Protocol):
    """The part of an event loop that `Turns` uses."""

    def time(self) -> float:
        """Return the seconds of a monotonic clock."""

    def call_later(self, delay: float, callback: Callable[[], object]) -> object:
        """Call `callback` after `delay` seconds."""


class Turns:
    """The queue of one server. Use it only on the server's loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._row: deque[tuple[object, Callable[[], bool]]] = deque()
        self._waiting: set[object] = set()
        self._going = False
        #: The two connections that were served last, with the time: at least one of them is not the waiting one.
        self._newest: tuple[object, float] = (None, float("-inf"))
        self._older: tuple[object, float] = (None, float("-inf"))
        #: The number of turns so far.
        self.given = 0

    def seen(self, connection: object) -> None:
        """Note that a connection is served now."""
        if self._newest[0] is not connection:
            self._older = self._newest
        self._newest = (connection, self._clock.time())

    def waits(self, connection: object) -> bool:
        """Return whether a connection is in the queue."""
        return connection in self._waiting

    def wait(self, connection: object, serve: Callable[[], bool]) -> None:
        """Add a connection to the queue, once. `serve` does one turn and returns whether there is more to do."""
        if connection in self._waiting:
            return
        self._waiting.add(connection)
        self._row.append((connection, serve))
        if not self._going:
            self._going = True
            self._clock.call_later(0.0, self._next)

    def leave(self, connection: object) -> None:
        """Remove a connection that has ended."""
        self._waiting.discard(connection)

    def _next(self) -> None:
        begin = self._clock.time()
        connection = self._serve_one()
        took = self._clock.time() - begin
        if not self._row:
            self._going = False
            return
        rest = max(LEAST_REST_S, took * REST_FACTOR) if self._others_than(connection) else 0.0
        self._clock.call_later(rest, self._next)

    def _serve_one(self) -> object:
        while self._row:
            connection, serve = self._row.popleft()
            if connection not in self._waiting:
                continue
            self._waiting.discard(connection)
            self.given += 1
            try:
                if serve():
                    self.wait(connection, serve)
            except Exception:  # the others get their turns after any error
                _log.exception("a connection's turn failed")
            return connection
        return None

    def _others_than(self, connection: object) -> bool:
        if len(self._waiting - {connection}):
            return True
        one, when = self._older if self._newest[0] is connection else self._newest
        return one is not None and self._clock.time() - when < ABOUT_S
