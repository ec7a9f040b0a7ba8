# SPDX-License-Identifier: GPL-3.0-or-later
"""`fractions` for scripts."""

from __future__ import annotations

from typing import Any

from ..guard.seam import Guard
from ..guard.values.fractions import Fraction

__all__ = ("fractions_members",)


def fractions_members(guard: Guard) -> dict[str, object]:
    """Return the members of `fractions`, for one run."""

    def make(numerator: Any = 0, denominator: Any = None) -> Fraction:
        return Fraction(numerator, denominator)

    make.__name__ = make.__qualname__ = "Fraction"
    return {"Fraction": guard.builtins.add_facade(make, Fraction)}
