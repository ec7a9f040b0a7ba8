# SPDX-License-Identifier: GPL-3.0-or-later
"""Queues messages to clients, with limits: a client that does not read costs little memory and blocks no handler."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from .shares import FREE_BYTES, Unread

#: The most characters that may wait for one client, besides a single larger message.
MAX_WAITING = 16 * 1024 * 1024
#: The seconds that a client may take to read something while more is waiting.
STALL_SECONDS = 60.0
#: The most characters of answered requests that a session keeps for a client that reconnects.
MAX_REPLAY = 16 * 1024 * 1024


class Outbox:
    """Texts for one WebSocket, written in order: at once, or by a task while the client reads too slowly.

    `write_now` writes if that needs no waiting, and returns whether it did. `abort` drops the connection of a client
    that does not read. `caught_up` is called when no text waits any more.
    """

    def __init__(
        self,
        write_now: Callable[[str], bool],
        write: Callable[[str], Awaitable[None]],
        abort: Callable[[], None],
        caught_up: Callable[[], object] = lambda: None,
    ) -> None:
        self._write_now = write_now
        self._write = write
        self._abort = abort
        self._caught_up = caught_up
        self._waiting: deque[str] = deque()
        #: The number of waiting characters.
        self.size = 0
        self._writer: asyncio.Task[None] | None = None
        self._closed = False

    def put(self, text: str) -> None:
        """Write a text, or queue it."""
        if self._closed or (self._writer is None and self._write_now(text)):
            return
        if self._waiting and self.size + len(text) > MAX_WAITING:
            self._give_up()
            return
        self._waiting.append(text)
        self.size += len(text)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._drain())

    @property
    def behind(self) -> bool:
        """Whether the client has to read before more can be written."""
        return self._writer is not None

    def close(self) -> None:
        """Drop all waiting texts, because the connection has ended."""
        self._forget()
        if self._writer:
            self._writer.cancel()

    async def _drain(self) -> None:
        try:
            while self._waiting:
                async with asyncio.timeout(STALL_SECONDS):
                    await self._write(self._waiting[0])
                if self._waiting:  # `_give_up` may have emptied it
                    self.size -= len(self._waiting.popleft())
        except TimeoutError:
            self._give_up()
        except OSError:  # the client has disconnected, which the reading side notices, too
            self._forget()
        finally:
            self._writer = None
        self._caught_up()

    def _give_up(self) -> None:
        self._forget()
        self._abort()

    def _forget(self) -> None:
        self._closed = True
        self._waiting.clear()
        self.size = 0


class Stream:
    """The messages of one HTTP request, in order. A client reads them as they come, and again if it lost them.

    `name` is the prefix of its event ids. `released`: the server closed its HTTP response on purpose. A stream without
    `keep` breaks when too many messages are unread, and calls `on_break`. When it grows, it makes `watched` check the
    limit for all clients together.
    """

    def __init__(
        self,
        name: str = "",
        *,
        keep: bool = False,
        on_break: Callable[[], None] | None = None,
        watched: Unread | None = None,
    ) -> None:
        self.name = name
        self.done = False
        self.released = False
        self.broken = False
        self._on_break = on_break
        self._watched = watched
        self.size = 0
        #: The position up to which a client has read.
        self.read_to = 0
        self._keep = keep
        self._texts: list[str] = []
        self._first = 0
        self._changed = asyncio.Event()

    @property
    def end(self) -> int:
        """The position after the last message."""
        return self._first + len(self._texts)

    def put(self, text: str, *, final: bool = False) -> None:
        """Add a message. At the limit of unread messages, the stream breaks or, with `keep`, drops the oldest ones."""
        if self.done or self.broken:
            return
        self._texts.append(text)
        self.size += len(text)
        self.done = final
        while self.size > MAX_WAITING and len(self._texts) > 1:
            if not self._keep:
                self._break()
                break
            self._drop_first()
        self._changed.set()
        if self._watched and self.size > FREE_BYTES:
            self._watched.look()

    @property
    def unread(self) -> int:
        """The number of stored characters."""
        return self.size

    def lose(self) -> None:
        """Drop all stored messages, because there is no room for them."""
        if not self._keep:
            self._break()
            return
        while self._texts:
            self._drop_first()

    def release(self) -> None:
        """Close the HTTP response on purpose."""
        self.released = True
        self._changed.set()

    def finish(self) -> None:
        """Mark the stream as complete."""
        self.done = True
        self._changed.set()

    def reopen(self) -> None:
        """Open the stream again for a client that has reconnected."""
        self.released = False

    def take(self, position: int) -> list[tuple[int, str]]:
        """Return the messages from `position` on, each with the position after it."""
        start = max(position, self._first)
        found = [(start + index + 1, text) for index, text in enumerate(self._texts[start - self._first :])]
        self.read_to = max(self.read_to, self.end)
        if not self._keep:
            while self._texts:
                self._drop_first()
        return found

    async def wait(self, position: int, timeout: float) -> None:
        """Wait for messages after `position`, for an end, or for `timeout` seconds."""
        if self.end > position or self.done or self.released or self.broken:
            return
        self._changed.clear()
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            return

    def _break(self) -> None:
        self.broken = True
        self._texts.clear()
        self.size = 0
        if self._on_break:
            self._on_break()

    def _drop_first(self) -> None:
        self.size -= len(self._texts.pop(0))
        self._first += 1
