# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rehearsal has measured of estimates that are above the limit. Nothing here knows Blender."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ("MOST", "MOST_SUBJECTS", "UNKNOWN", "Measured")

UNKNOWN = 1e15
"""The estimate of what nobody can tell beforehand."""
MOST = 1e16
"""No estimate that is noted is higher."""
MOST_SUBJECTS = 500
"""Subjects that one rehearsal may measure."""


@dataclass(slots=True)
class Measured:
    """Estimates above the limit, by what they are about: an object, an operator, a function.

    In a rehearsal they are noted in `estimates` and stop nothing, since the kernel's limits hold there; `made` is how
    much there was of it in the end. In a run that was rehearsed they are those that the rehearsal noted: the run may
    make so much, and no more.
    """

    rehearses: bool = False
    estimates: dict[str, float] = field(default_factory=dict)
    made: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Mapping[str, Any] | None) -> Measured:
        """What the report of a rehearsal tells; nothing where there was none."""
        found = (report or {}).get("growth") or {}
        return cls(estimates={subject: told["estimate"] for subject, told in found.items()})

    def told(self) -> dict[str, dict[str, float]]:
        """The same for a report."""
        return {
            subject: {"estimate": estimate} | ({"made": self.made[subject]} if subject in self.made else {})
            for subject, estimate in self.estimates.items()
        }

    def allows(self, subject: str, count: float) -> bool:
        """Whether a step may make about `count`, which is above the limit."""
        count = min(count, MOST)
        if self.rehearses and (subject in self.estimates or len(self.estimates) < MOST_SUBJECTS):
            self.estimates[subject] = max(count, self.estimates.get(subject, 0.0))
        return count <= self.estimates.get(subject, 0.0)
