# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses NaN as an argument: Blender limits numbers by comparison, which it passes, and finds no place for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from .parameters import parameters

__all__ = ("check_numbers", "check_plain_numbers", "takes_floats")


@cache
def takes_floats(path: str) -> frozenset[str]:
    """Return the parameters of `Struct.function` that are floating-point numbers, or a fixed number of these."""
    return frozenset(
        p.identifier
        for p in parameters(path)
        if p.type == "FLOAT" and not p.is_output and (not p.is_array or p.array_length)
    )


def check_numbers(path: str, arguments: Mapping[str, Any]) -> None:
    """Check the arguments of `takes_floats`.

    Raises:
        ValueError: one is not a number.
    """
    floats = takes_floats(path)
    for name, value in arguments.items():
        if name in floats and (type(value) is not float or value != value) and _has_nan(value):
            raise ValueError(f"{path}(): {name} is not a number (NaN): give a finite one")


def check_plain_numbers(function: str, *values: Any) -> None:
    """Check any arguments of a function that RNA does not know, as `check_numbers` does."""
    if any(map(_has_nan, values)):
        raise ValueError(f"{function}(): an argument is not a number (NaN): give a finite one")


def _has_nan(value: Any) -> bool:
    kind = type(value)
    if kind is int or kind is bool or isinstance(value, str):
        return False
    if not hasattr(kind, "__len__"):
        return bool(value != value)
    return len(value) <= _LONGEST and any(map(_has_nan, value))


_LONGEST = 32
"""As many numbers as an array of fixed length has at most: Blender refuses more."""
