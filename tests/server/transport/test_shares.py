# SPDX-License-Identifier: GPL-3.0-or-later
"""Places, half-received messages and unread answers."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.server.transport.shares import FREE_BYTES, Held, Places, Unread


@pytest.mark.parametrize("most", [1, 2, 3, 7, 64])
def test_however_many_one_client_takes_the_next_finds_a_place(most: int) -> None:
    places, got = Places(most), []
    for client in "abcdefgh":
        taken = 0
        while places.take(client):
            taken += 1
        got.append(taken)
        assert len(places) <= most
    assert got[0] == (most + 1) // 2
    assert got == sorted(got, reverse=True)
    assert sum(got) == most if most < 2**7 else True
    for client, taken in zip("abcdefgh", got, strict=True):
        for _ in range(taken):
            places.give_back(client)
    assert len(places) == 0
    assert places.share("a") == got[0]


def test_a_place_that_was_given_back_can_be_taken_by_anybody() -> None:
    places = Places(4)
    assert [places.take("a") for _ in range(3)] == [True, True, False]
    assert [places.take("b") for _ in range(2)] == [True, False]
    places.give_back("a")
    assert places.share("b") == 2
    assert places.take("b")


def test_small_messages_come_through_when_the_store_is_full() -> None:
    held = Held(10 * FREE_BYTES)
    large = held.message()
    assert large.grow(11 * FREE_BYTES)
    assert held.taken == held.most
    assert held.message().grow(FREE_BYTES)
    late = held.message()
    assert not late.grow(FREE_BYTES + 1)
    late.close()
    assert held.taken == held.most
    large.close()
    large.close()
    assert held.taken == 0
    assert late.grow(11 * FREE_BYTES)


def test_bytes_that_were_counted_in_pieces_are_given_back_at_once() -> None:
    held = Held(2 * FREE_BYTES)
    account = held.message()
    counted = [account.grow(1000) for _ in range(300)]
    assert counted.count(True) == 3 * FREE_BYTES // 1000
    assert held.taken <= held.most
    account.close()
    assert held.taken == 0


class _Box:
    def __init__(self, unread: int) -> None:
        self.unread = unread

    def drop(self) -> None:
        self.unread = 0


def test_whoever_has_most_unread_loses_it_first() -> None:
    unread = Unread(100)
    boxes = [_Box(size) for size in (10, 60, 40, 50)]
    for box in boxes:
        unread.add(box, box.drop)
    unread.look()
    assert [box.unread for box in boxes] == [10, 0, 40, 50]
    boxes[0].unread = 60
    unread.look()
    assert [box.unread for box in boxes] == [0, 0, 40, 50]
    boxes[1].unread = 90  # watched on, although it lost what it had
    unread.remove(boxes[2])
    unread.look()
    assert [box.unread for box in boxes] == [0, 0, 40, 50]
