# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of a render moves while Cycles tells nothing."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.rendering.pace import Pace


class Watched:
    """A pace at a clock that the test sets; `shown` is what it reported."""

    def __init__(self) -> None:
        self.now = 100.0
        self.shown: list[tuple[float, float]] = []
        self.pace = Pace(lambda *report: self.shown.append(report), lambda: self.now)

    def tells(self, at: float, samples: float, total: float = 100.0) -> None:
        self.now = 100.0 + at
        self.pace.report_samples(samples, total)

    def waits(self, until: float) -> None:
        while self.now < 100.0 + until:
            self.now += 0.1
            self.pace.meanwhile()


def test_progress_is_passed_on() -> None:
    watched = Watched()
    for number in range(0, 101, 20):
        watched.tells(number / 10, number)
    assert watched.shown == [(number, 100.0) for number in range(0, 101, 20)]


def test_in_between_it_goes_on_at_the_pace_so_far_once_a_second() -> None:
    watched = Watched()
    watched.tells(0.0, 0)
    watched.tells(1.0, 2)
    watched.waits(11.0)
    samples = [samples for samples, _ in watched.shown[2:]]
    assert 9 <= len(samples) <= 10
    assert samples == sorted(samples)
    assert samples[-1] == pytest.approx(22, abs=2.5)


def test_it_never_says_that_all_is_done_and_never_goes_back() -> None:
    watched = Watched()
    watched.tells(0.0, 0)
    watched.tells(1.0, 10)
    watched.waits(60.0)
    assert watched.shown[-1] == (99.0, 100.0)
    watched.tells(61.0, 40)  # it was slower than before
    watched.waits(63.0)
    assert watched.shown[-1] == (99.0, 100.0)
    watched.tells(200.0, 100)
    assert watched.shown[-1] == (100.0, 100.0)


def test_nothing_is_guessed_before_there_is_a_pace() -> None:
    watched = Watched()
    watched.waits(5.0)
    assert watched.shown == []
    watched.tells(5.0, 0)
    watched.waits(10.0)
    assert watched.shown == [(0.0, 100.0)]
