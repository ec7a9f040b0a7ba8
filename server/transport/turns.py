# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns between connections, so that one which sends without a break cannot starve the others.

A connection that has little to read is served as soon as it comes. One that has more than a turn takes waits in a row
with the others of its kind: they are served round, one turn each. While others are about, the row rests after each turn
for some times as long as the turn took. So a flood, over however many connections, has a fixed part of the loop's time,
and the rest is free: for the other connections, and for Blender's main thread, which needs the interpreter as well.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

__all__ = ("Clock", "Turns")

#: The row rests this many times as long as a turn took, and at least so many seconds.
REST_FACTOR = 3.0
LEAST_REST_S = 0.002
#: A connection that was served so many seconds ago is still about.
ABOUT_S = 1.0

_log = logging.getLogger(__name__)


class Clock(Protocol):
    """What is needed of an event loop."""

    def time(self) -> float:
        """Seconds of a clock that only goes forward."""

    def call_later(self, delay: float, callback: Callable[[], object]) -> object:
        """Call it after `delay` seconds."""


class Turns:
    """The row of one server. Belongs to its loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._row: deque[tuple[object, Callable[[], bool]]] = deque()
        self._waiting: set[object] = set()
        self._going = False
        #: The two connections that were served last, and when: whoever waits, one of them is another.
        self._newest: tuple[object, float] = (None, float("-inf"))
        self._older: tuple[object, float] = (None, float("-inf"))
        #: How many turns were given.
        self.given = 0

    def seen(self, connection: object) -> None:
        """A connection is being served."""
        if self._newest[0] is not connection:
            self._older = self._newest
        self._newest = (connection, self._clock.time())

    def waits(self, connection: object) -> bool:
        """Whether a connection stands in the row."""
        return connection in self._waiting

    def wait(self, connection: object, serve: Callable[[], bool]) -> None:
        """Stand in the row, once. `serve` does one turn and says whether there is more to do."""
        if connection in self._waiting:
            return
        self._waiting.add(connection)
        self._row.append((connection, serve))
        if not self._going:
            self._going = True
            self._clock.call_later(0.0, self._next)

    def leave(self, connection: object) -> None:
        """The connection has ended."""
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
            except Exception:  # the others' turns come whatever fails
                _log.exception("a connection's turn failed")
            return connection
        return None

    def _others_than(self, connection: object) -> bool:
        if len(self._waiting - {connection}):
            return True
        one, when = self._older if self._newest[0] is connection else self._newest
        return one is not None and self._clock.time() - when < ABOUT_S
