# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds of what the nodes that compute make of numbers: only absolute values are known, so results have no sign."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from ..guard.measured import UNKNOWN

__all__ = ("arithmetic", "known_number")


def known_number(value: float) -> float:
    """Return the absolute value; `UNKNOWN` for NaN and for what is as large."""
    return abs(value) if abs(value) < UNKNOWN else UNKNOWN


def arithmetic(operation: str, inputs: list[float], exact: list[bool]) -> float:
    """Return the largest absolute value that a node may compute from inputs of these absolute values.

    `exact`: whether an input is the number itself, and not a bound of it. The result is `UNKNOWN` if an input that
    counts is, and for an operation that no table here names.
    """
    if operation in _BOUNDED:
        return _BOUNDED[operation]
    if max(inputs, default=0.0) >= UNKNOWN or not all(exact[at] for at in _EXACT_INPUTS.get(operation, ())):
        return UNKNOWN
    first, second, *_ = *inputs, 0.0, 0.0
    try:
        if operation in _GROWING:
            return known_number(_GROWING[operation](first, second))
        if operation in _PRODUCTS:
            return known_number(_PRODUCTS[operation] * math.prod(max(i, 1.0) for i in inputs))
    except ArithmeticError:
        return UNKNOWN
    return known_number(_SUMS[operation] * sum(inputs)) if operation in _SUMS else UNKNOWN


_LEAST: Final = 1e-12
"""The smallest divisor that counts: a smaller one, or zero, counts as this."""
_BOUNDED: Final = dict.fromkeys(
    """
    ARCCOSINE ARCSINE ARCTANGENT ARCTAN2 COMPARE COSINE FRACT FRACTION GREATER_THAN LESS_THAN NORMALIZE SIGN SINE TANH
    """.split(),
    4.0,
)
"""The bounds of operations whose result has one, whatever goes in."""
_PRODUCTS: Final = {
    **dict.fromkeys("LCM LEAST_COMMON_MULTIPLE MULTIPLY SCALE".split(), 1.0),
    **dict.fromkeys("CROSS_PRODUCT MULTIPLY_ADD".split(), 2.0),
    "DOT_PRODUCT": 3.0,
}
"""Products of the inputs, with how often these are added up."""
_SUMS: Final = {
    **dict.fromkeys(
        """
        ABSOLUTE ADD CEIL DIVIDE_CEIL DIVIDE_FLOOR DIVIDE_ROUND FACEFORWARD FLOOR FLOORED_MODULO GCD MAXIMUM MINIMUM
        MODULO NEGATE PINGPONG RADIANS ROUND SMOOTH_MAX SMOOTH_MIN SNAP SUBTRACT TRUNC WRAP
        """.split(),
        1.0,
    ),
    **dict.fromkeys("DISTANCE LENGTH PROJECT REFLECT".split(), 2.0),
}
"""Operations that make no more than the sum of the inputs, or so many times as much."""
_GROWING: Final[dict[str, Callable[[float, float], float]]] = {
    "DIVIDE": lambda first, second: first / max(second, _LEAST),
    "DEGREES": lambda first, _second: 58.0 * first,
    "EXPONENT": lambda first, _second: math.exp(first),
    "COSH": lambda first, _second: math.exp(first),
    "SINH": lambda first, _second: math.exp(first),
    "INVERSE_SQRT": lambda first, _second: max(first, _LEAST) ** -0.5,
    "LOGARITHM": lambda _first, _second: UNKNOWN,
    "POWER": lambda first, second: max(first, 1.0 / max(first, _LEAST)) ** second,
    "REFRACT": lambda _first, _second: UNKNOWN,
    "SQRT": lambda first, _second: first + 1.0,
    "TANGENT": lambda _first, _second: UNKNOWN,
}
"""Operations whose result may be much larger than what goes in."""
_EXACT_INPUTS: Final = {"DIVIDE": (1,), "INVERSE_SQRT": (0,), "POWER": (0,)}
"""The inputs of which small numbers make large ones."""
