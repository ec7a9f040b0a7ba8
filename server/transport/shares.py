# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits over all connections together: places, bytes of partly received messages, bytes of unread answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol

__all__ = ("Held", "Places", "Unread", "UnreadAnswers")

#: Up to this many bytes, a message does not count, so that small messages always come through.
FREE_BYTES = 64 * 1024


class Places:
    """The places for open connections and requests, shared between clients.

    A client may take half of the places that the others leave free, so that the next client always finds some.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._taken.total()

    def share(self, client_id: str) -> int:
        """Return the number of places that this client may have now."""
        others = len(self) - self._taken[client_id]
        return (self.most - others + 1) // 2

    def take(self, client_id: str) -> bool:
        """Take a place; False if there is none for this client."""
        if self._taken[client_id] >= self.share(client_id):
            return False
        self._taken[client_id] += 1
        return True

    def give_back(self, client_id: str) -> None:
        """Free the place of a connection or request that has ended."""
        self._taken[client_id] -= 1
        if not self._taken[client_id]:
            del self._taken[client_id]


class Held:
    """The bytes of partly received messages, over all connections."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def message(self) -> Message:
        """Return a new account of one message."""
        return Message(self)


class Message:
    """The bytes that one message uses of the shared limit, until `close`."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._size = 0
        self._taken = 0

    def grow(self, size: int) -> bool:
        """Count `size` more bytes; False if the limit has no room for them."""
        self._size += size
        more = max(0, self._size - FREE_BYTES) - self._taken
        if self._held.taken + more > self._held.most:
            return False
        self._held.taken += more
        self._taken += more
        return True

    def close(self) -> None:
        """Free the bytes of a message that has been read or dropped. A second call does nothing."""
        self._held.taken -= self._taken
        self._taken = self._size = 0


class UnreadAnswers(Protocol):
    """The answers that wait for one client."""

    @property
    def unread(self) -> int:
        """The number of unread bytes."""


class Unread:
    """The bytes of answers that clients have not read yet, over all connections.

    If there are too many, the client with the most unread bytes loses its answers.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._of: dict[UnreadAnswers, Callable[[], None]] = {}

    def add(self, answers: UnreadAnswers, drop: Callable[[], None]) -> None:
        """Watch a connection or session. `drop` drops its waiting answers."""
        self._of[answers] = drop

    def remove(self, answers: UnreadAnswers) -> None:
        """Stop watching a connection that has ended."""
        self._of.pop(answers, None)

    def look(self) -> None:
        """Check the limit after a growth: drop the largest answers until there is room."""
        sizes = {answers: answers.unread for answers in self._of}
        total = sum(sizes.values())
        while total > self.most:
            largest = max(sizes, key=sizes.__getitem__)
            total -= sizes.pop(largest)
            self._of[largest]()
