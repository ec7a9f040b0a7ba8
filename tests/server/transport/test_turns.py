# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns on a clock that only moves when it is told to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bl_ext.user_default.mcp_bridge.server.transport import turns
from bl_ext.user_default.mcp_bridge.server.transport.turns import Turns


class Clock:
    """Calls what is due; each call is noted with the time at which it was made."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], object]) -> None:
        self._due.append((self.now + delay, callback))

    def run(self, until: float = float("inf"), most: int = 10_000) -> None:
        while self._due and most:
            when, callback = self._due[0]
            if when > until:
                return
            del self._due[0]
            self.now = max(self.now, when)
            callback()
            most -= 1


class Flood:
    """Has `left` turns to do, each of which takes a while."""

    def __init__(self, clock: Clock, log: list[str], name: str, left: int, takes: float = 0.001) -> None:
        self._clock, self._log, self._name, self._takes = clock, log, name, takes
        self.left = left

    def turn(self) -> bool:
        self._log.append(self._name)
        self._clock.now += self._takes
        self.left -= 1
        return self.left > 0


def test_those_who_wait_are_served_round_one_turn_each() -> None:
    clock, log = Clock(), []
    row = Turns(clock)
    for name, left in (("a", 4), ("b", 2), ("c", 1)):
        flood = Flood(clock, log, name, left)
        row.wait(flood, flood.turn)
        row.wait(flood, flood.turn)  # standing there twice counts once
    clock.run()
    assert log == ["a", "b", "c", "a", "b", "a", "a"]
    assert row.given == 7


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("takes", [0.0001, 0.001, 0.1])
def test_the_row_has_a_fixed_part_of_the_time_while_others_are_about(count: int, takes: float) -> None:
    clock, log, honest = Clock(), [], object()
    row = Turns(clock)
    floods = [Flood(clock, log, str(number), 10_000, takes) for number in range(count)]
    for flood in floods:
        row.wait(flood, flood.turn)
    for _ in range(1000):
        row.seen(honest)
        clock.run(most=1)
    assert len(log) == 1000
    assert len(log) * takes / clock.now <= 1 / (1 + turns.REST_FACTOR) * 1.01


def test_one_that_is_alone_does_not_rest() -> None:
    clock, log = Clock(), []
    row, flood = Turns(clock), Flood(clock, log, "a", 1000)
    row.seen(object())
    clock.now += turns.ABOUT_S + 0.1  # whoever else was there has gone
    begin = clock.now
    row.seen(flood)
    row.wait(flood, flood.turn)
    clock.run()
    assert clock.now - begin == pytest.approx(1.0)


def test_one_that_is_served_all_the_time_does_not_hide_the_others() -> None:
    clock, log, honest = Clock(), [], object()
    row, flood = Turns(clock), Flood(clock, log, "a", 100)
    row.seen(honest)
    for _ in range(10):
        row.seen(flood)
    row.wait(flood, flood.turn)
    clock.run(until=0.1)
    assert len(log) <= 26  # a quarter of the time, at one millisecond a turn


def test_who_has_left_has_no_turn_and_who_fails_takes_none_away(caplog: pytest.LogCaptureFixture) -> None:
    clock, log = Clock(), []
    row = Turns(clock)
    gone, last = Flood(clock, log, "gone", 5), Flood(clock, log, "last", 1)
    failing = object()

    def fail() -> bool:
        raise ValueError("a fault of ours")

    row.wait(failing, fail)
    row.wait(gone, gone.turn)
    row.wait(last, last.turn)
    assert row.waits(gone)
    row.leave(gone)
    assert not row.waits(gone)
    clock.run()
    assert log == ["last"]
    assert "a connection's turn failed" in caplog.text
    row.wait(gone, gone.turn)
    clock.run(most=1)
    assert log == ["last", "gone"]
