# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses NaN as an argument: Blender limits numbers by comparison, which it passes, and finds no place for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ..plain_values import has_nan
from .parameters import parameters

__all__ = ("check_arguments", "check_numbers", "check_plain_numbers", "takes_floats")


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
    check_arguments(path, {name: value for name, value in arguments.items() if name in floats})


def check_arguments(function: str, arguments: Mapping[str, Any]) -> None:
    """Check all arguments of a function or operator, as `check_numbers` does."""
    for name, value in arguments.items():
        if (type(value) is not float or value != value) and has_nan(value):
            raise ValueError(f"{function}(): {name} is not a number (NaN): give a finite one")


def check_plain_numbers(function: str, *values: Any) -> None:
    """Check any arguments of a function that RNA does not know, as `check_numbers` does."""
    if any(map(has_nan, values)):
        raise ValueError(f"{function}(): an argument is not a number (NaN): give a finite one")
