# SPDX-License-Identifier: GPL-3.0-or-later
"""What all connections may hold together: places, bytes of messages that are half received, bytes that nobody reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol

__all__ = ("Held", "Places", "Unread", "UnreadAnswers")

#: A message holds nothing of the common store up to this many bytes, so that small ones always come through.
FREE_BYTES = 64 * 1024


class Places:
    """Connections and requests that may be open at once, shared between clients.

    One client may have half of what the others leave, so that however many one of them takes, the next finds some.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._taken.total()

    def share(self, client_id: str) -> int:
        """How many places this client may have now."""
        others = len(self) - self._taken[client_id]
        return (self.most - others + 1) // 2

    def take(self, client_id: str) -> bool:
        """Take a place; False where there is none for this client."""
        if self._taken[client_id] >= self.share(client_id):
            return False
        self._taken[client_id] += 1
        return True

    def give_back(self, client_id: str) -> None:
        """The connection or request has ended."""
        self._taken[client_id] -= 1
        if not self._taken[client_id]:
            del self._taken[client_id]


class Held:
    """Bytes of messages that are half received, over all connections."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def message(self) -> Message:
        """The account of one message."""
        return Message(self)


class Message:
    """What one message holds of the common store, until `close`."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._size = 0
        self._taken = 0

    def grow(self, size: int) -> bool:
        """Count that many bytes more; False where the store has no room for them."""
        self._size += size
        more = max(0, self._size - FREE_BYTES) - self._taken
        if self._held.taken + more > self._held.most:
            return False
        self._held.taken += more
        self._taken += more
        return True

    def close(self) -> None:
        """The message has been read, or given up. To call it twice does no harm."""
        self._held.taken -= self._taken
        self._taken = self._size = 0


class UnreadAnswers(Protocol):
    """What waits for one client."""

    @property
    def unread(self) -> int:
        """How many bytes."""


class Unread:
    """Bytes of answers that wait for clients to read them, over all connections.

    Where they become too many, whoever has the most loses them.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._of: dict[UnreadAnswers, Callable[[], None]] = {}

    def add(self, answers: UnreadAnswers, drop: Callable[[], None]) -> None:
        """Watch a connection or session from now on. `drop` makes it give up what waits."""
        self._of[answers] = drop

    def remove(self, answers: UnreadAnswers) -> None:
        """The connection has ended."""
        self._of.pop(answers, None)

    def look(self) -> None:
        """Some have become more: drop the largest until there is room."""
        sizes = {answers: answers.unread for answers in self._of}
        total = sum(sizes.values())
        while total > self.most:
            largest = max(sizes, key=sizes.__getitem__)
            total -= sizes.pop(largest)
            self._of[largest]()
