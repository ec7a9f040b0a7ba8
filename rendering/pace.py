# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates the progress of a render between two reports of Cycles, which come every half minute without a window.

The estimate uses the pace of the samples so far; it never passes the known remaining samples and never goes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ("Pace",)

#: Seconds between two estimates, and the part of the whole that an estimate never passes.
_EVERY_S = 1.0
_MOST = 0.99


class Pace:
    """Passes on reported samples (`report_samples`), and estimates in between (`meanwhile`)."""

    def __init__(
        self, report: Callable[[float, float], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._report = report
        self._clock = clock
        #: Time and number of the first reported sample, and of the last one.
        self._first: tuple[float, float] | None = None
        self._last = (0.0, 0.0)
        self._total = 0.0
        self._shown = 0.0
        self._shown_at = 0.0

    def report_samples(self, samples: float, total: float) -> None:
        """Report that `samples` of `total` are done."""
        now = self._clock()
        if self._first is None:
            self._first = (now, samples)
        self._last, self._total = (now, samples), total
        self._show(now, samples)

    def meanwhile(self) -> None:
        """Report an estimate if one is due; call this while no sample is reported."""
        now = self._clock()
        if self._first is None or now - self._shown_at < _EVERY_S:
            return
        (begin, first), (then, done) = self._first, self._last
        if then > begin and done > first:
            rate = (done - first) / (then - begin)
            self._show(now, min(done + rate * (now - then), _MOST * self._total))

    def _show(self, now: float, samples: float) -> None:
        if samples > self._shown or not self._shown_at:
            self._shown, self._shown_at = max(samples, self._shown), now
            self._report(self._shown, self._total)
