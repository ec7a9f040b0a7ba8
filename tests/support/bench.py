# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a benchmark under tests/bench, and functions that time it."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ("Asker", "Row", "calls_at_once", "percentile", "samples")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `target` is the design's demand, `baseline` the time of something comparable in the same run."""

    name: str
    value: float
    unit: str
    target: str = ""
    baseline: str = ""

    @property
    def misses(self) -> bool:
        """Whether the value is beyond its target, such as "≤ 250" or "≥ 1,000"."""
        if not self.target:
            return False
        bound = float(self.target[1:].replace(",", ""))
        return self.value > bound if self.target[0] == "≤" else self.value < bound


def samples(act: Callable[[], object], count: int, *, warm_up: int = 50, pause: float = 0.0) -> list[float]:
    """Return the seconds of each of `count` calls, sorted; `pause` seconds before each do not count."""
    for _ in range(warm_up):
        act()
    taken = []
    for _ in range(count):
        if pause:
            time.sleep(pause)
        begin = time.perf_counter()
        act()
        taken.append(time.perf_counter() - begin)
    return sorted(taken)


def percentile(sorted_samples: Sequence[float], part: float) -> float:
    """Return the sample below which `part` (0 to 1) of all lie."""
    return sorted_samples[min(len(sorted_samples) - 1, int(len(sorted_samples) * part))]


class Asker(Protocol):
    """One connection for `calls_at_once`."""

    def fileno(self) -> int:
        """The number of its socket."""

    def ask(self) -> object:
        """Send a call, without waiting for the answer."""

    def take(self) -> object:
        """Read the answer, which has begun to arrive. Raises an error for one that is no success."""


def calls_at_once(askers: Sequence[Asker], seconds: float) -> float:
    """Return the calls per second that all connections get together; each has one call under way at any time.

    One thread of this process asks for all of them: a process for each would compete with the server for the
    processors, and the figure would tell more of those processes than of the server.
    """
    done, begin = 0, time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for asker in askers:
            selector.register(asker.fileno(), selectors.EVENT_READ, asker)
            asker.ask()
        while time.perf_counter() - begin < seconds:
            for key, _ in selector.select(timeout=seconds):
                key.data.take()
                key.data.ask()
                done += 1
        taken = time.perf_counter() - begin
    for asker in askers:
        asker.take()
    return done / taken
