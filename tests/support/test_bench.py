# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop that measures many connections at once."""

from __future__ import annotations

import socket
import threading

import pytest

from support.bench import calls_at_once


class _Asker:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.fileno = connection.fileno
        self.asked = self.taken = 0

    def ask(self) -> None:
        assert self.asked == self.taken, "one call is under way at any time"
        self.asked += 1
        self._connection.sendall(b"?")

    def take(self) -> None:
        assert self._connection.recv(1) == b"?"
        self.taken += 1


@pytest.mark.parametrize("count", [1, 3])
def test_every_connection_is_asked_again_and_again_and_every_answer_is_taken(count: int) -> None:
    pairs = [socket.socketpair() for _ in range(count)]

    def echo(there: socket.socket) -> None:
        while data := there.recv(1):
            there.sendall(data)

    for _, there in pairs:
        threading.Thread(target=echo, args=(there,), daemon=True).start()
    askers = [_Asker(here) for here, _ in pairs]
    rate = calls_at_once(askers, 0.2)
    for here, _ in pairs:
        here.close()
    assert all(asker.asked == asker.taken > 2 for asker in askers)
    answered_in_time = sum(asker.taken for asker in askers) - count
    assert 0 < rate <= answered_in_time / 0.2
