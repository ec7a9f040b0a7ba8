# SPDX-License-Identifier: GPL-3.0-or-later
"""uvicorn's HTTP connection with two changes: it reads in turn with the others, and a request head has a time limit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import h11

    from .shares import Held
    from .turns import Turns

__all__ = ("HttpProtocol", "Shared")

#: A connection is dropped if it does not send a whole request head within this time (seconds).
HEAD_SECONDS = 10.0
#: The bytes to read at once. A body may come in many small pieces, which take long, or in few: a trial shows that.
#: Everything else is read in the least portions, so that one turn has few requests.
LEAST_PORTION, LARGEST_PORTION = 1024, 64 * 1024
#: A chunk of at most this many bytes is read at once.
LIGHT_BYTES = 2048
_LIGHT_PORTIONS = 3
_END_OF_HEAD = b"\r\n\r\n"
#: If a portion took less than this (seconds), the next portion is twice as large.
QUICK_S = 0.0003


@dataclass(frozen=True, slots=True)
class Shared:
    """The state that all connections share. `most`: how many may be open, including idle ones."""

    turns: Turns
    held: Held
    most: int


class HttpProtocol(H11Protocol):
    """One HTTP connection, for uvicorn."""

    def __init__(self, shared: Shared, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._shared = shared
        self._arrived = bytearray()
        self._portion = LEAST_PORTION
        self._unread = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override, unused-ignore]
        """Begin a connection; drop it if too many are open."""
        super().connection_made(transport)
        if len(self.connections) > self._shared.most:
            transport.abort()
            return
        self.flow = _Flow(self)
        # The app drops a client that does not read, since closing would wait until it reads.
        self.app_state = {
            **self.app_state,
            "abort": transport.abort,
            "turns": self._shared.turns,
            "held": self._shared.held,
        }
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_is_late)

    def data_received(self, data: bytes) -> None:
        """Take data from the socket: a small chunk, as most requests are, at once, a larger one in turn."""
        self._arrived += data
        turns = self._shared.turns
        if len(self._arrived) <= LIGHT_BYTES and not turns.waits(self):
            turns.seen(self)
            for _ in range(_LIGHT_PORTIONS):
                if self._may_read:
                    self._read_portion()
        self.go_on()

    def go_on(self) -> None:
        """Continue reading at this connection's next turn, and resume the socket when all data is read."""
        if self._may_read:
            self._shared.turns.wait(self, self._turn)
        if self._arrived or self.flow.read_paused:
            self.transport.pause_reading()
        elif not self.transport.is_closing():
            self.transport.resume_reading()

    def _turn(self) -> bool:
        if self._may_read:
            self._read_portion()
        if self._may_read:
            return True
        self.go_on()
        return False

    @property
    def _may_read(self) -> bool:
        """Whether there is data to read and the request before it has its answer."""
        answering = self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body)
        return bool(self._arrived) and not self.flow.read_paused and not answering

    def on_response_complete(self) -> None:
        """Continue reading after uvicorn has sent a whole answer."""
        super().on_response_complete()
        self.go_on()

    def _read_portion(self) -> None:
        end = self._arrived.find(_END_OF_HEAD, 0, self._portion)
        size = self._portion if self._in_body or end < 0 else end + len(_END_OF_HEAD)
        portion = bytes(self._arrived[:size])
        del self._arrived[:size]
        begin = self.loop.time()
        super().data_received(portion)
        quick = self.loop.time() - begin < QUICK_S
        self._portion = min(self._portion * 2, LARGEST_PORTION) if quick and self._in_body else LEAST_PORTION
        if self.transport.is_closing():
            self._arrived.clear()

    @property
    def _in_body(self) -> bool:
        return self.cycle is not None and self.cycle.more_body

    def _head_is_late(self) -> None:
        if self.scope is None:
            self.transport.abort()

    def timeout_keep_alive_handler(self) -> None:
        """Drop an idle connection. If the client has not read an answer by now, it never will."""
        unread, self._unread = self._unread, self.transport.get_write_buffer_size()
        if self._unread and self._unread != unread:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        elif self._unread:
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over to the WebSocket protocol, as uvicorn does."""
        # From here on the connection belongs to another protocol, which this one must not outlive.
        self._leave()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the queue of turns when the connection has ended."""
        self._leave()
        super().connection_lost(exc)

    def _leave(self) -> None:
        self._arrived.clear()
        self._shared.turns.leave(self)
        if self._head_timer:
            self._head_timer.cancel()


class _Flow(FlowControl):
    """uvicorn's flow control for one of two reasons to stop reading: the app has enough of a body."""

    def __init__(self, protocol: HttpProtocol) -> None:
        super().__init__(protocol.transport)
        self._protocol = protocol

    def pause_reading(self) -> None:
        self.read_paused = True
        self._protocol.transport.pause_reading()

    def resume_reading(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self._protocol.go_on()
