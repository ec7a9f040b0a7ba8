# SPDX-License-Identifier: GPL-3.0-or-later
"""Remembers what a rehearsal has measured where an estimate was above the limit. It does not depend on Blender."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ("MOST", "MOST_SUBJECTS", "UNKNOWN", "Measured")

UNKNOWN = 1e15
"""The estimate of what nobody can know beforehand."""
MOST = 1e16
"""The highest estimate that is stored; a higher one counts as this."""
MOST_SUBJECTS = 500
"""How many subjects one rehearsal may measure."""
_SAME = 1.1
"""How many times as much still counts as the same: random numbers move the estimates of one script."""


@dataclass(slots=True)
class Measured:
    """Estimates above the limit, by subject: an object, an operator or a function.

    A rehearsal stores them in `estimates` and stops nothing, since the kernel's limits hold there; `made` is the amount
    that Blender made in the end. In the live run after a rehearsal, `estimates` are those of the rehearsal: the run may
    make about that much, and no more.
    """

    rehearses: bool = False
    estimates: dict[str, float] = field(default_factory=dict)
    made: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Mapping[str, Any] | None) -> Measured:
        """Read the estimates in the report of a rehearsal; none if there was no rehearsal."""
        found = (report or {}).get("growth") or {}
        return cls(estimates={subject: entry["estimate"] for subject, entry in found.items()})

    def to_report(self) -> dict[str, dict[str, float]]:
        """Return the estimates and the measured amounts for a report."""
        return {
            subject: {"estimate": estimate} | ({"made": self.made[subject]} if subject in self.made else {})
            for subject, estimate in self.estimates.items()
        }

    def allows(self, subject: str, count: float) -> bool:
        """Return whether a step may make about `count` of the subject, which is above the limit."""
        count = min(count, MOST)
        if self.rehearses and (subject in self.estimates or len(self.estimates) < MOST_SUBJECTS):
            self.estimates[subject] = max(count, self.estimates.get(subject, 0.0))
        return count <= _SAME * self.estimates.get(subject, 0.0)
