# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a render is between two samples that Cycles tells of: without a window those are half a minute apart.

Estimated from the samples so far, never beyond what is known to be left, and never back.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ("Pace",)

#: Estimates are told this often, in seconds, and go no further than this part of the whole.
_EVERY_S = 1.0
_MOST = 0.99


class Pace:
    """Passes on samples as they are told of (`told`), and estimates in between (`meanwhile`)."""

    def __init__(
        self, report: Callable[[float, float], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._report = report
        self._clock = clock
        #: When the first and the last sample were told of, and their numbers.
        self._first: tuple[float, float] | None = None
        self._last = (0.0, 0.0)
        self._total = 0.0
        self._shown = 0.0
        self._shown_at = 0.0

    def told(self, samples: float, total: float) -> None:
        """So many samples are done."""
        now = self._clock()
        if self._first is None:
            self._first = (now, samples)
        self._last, self._total = (now, samples), total
        self._show(now, samples)

    def meanwhile(self) -> None:
        """Nothing was told of; a report is due now and then."""
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
