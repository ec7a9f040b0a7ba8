# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a benchmark under tests/bench, and functions that time it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ("Row", "percentile", "samples")


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
