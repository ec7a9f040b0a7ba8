# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of the library's exceptions for scripts: a script that gets the library's own class could change it.

`raising(function)` makes a function raise these instead of the library's.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import statistics
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..guard.facade import Sealed

__all__ = (
    "FrozenInstanceError",
    "JSONDecodeError",
    "LinAlgError",
    "PatternError",
    "StatisticsError",
    "StructError",
    "raising",
)


class JSONDecodeError(ValueError, metaclass=Sealed):
    """The script's `json.JSONDecodeError`."""

    __module__ = "json"
    msg: str
    doc: str
    pos: int
    lineno: int
    colno: int


class StatisticsError(ValueError, metaclass=Sealed):
    """The script's `statistics.StatisticsError`."""

    __module__ = "statistics"


class StructError(Exception, metaclass=Sealed):
    """The script's `struct.error`."""

    __module__ = "struct"


class PatternError(Exception, metaclass=Sealed):
    """The script's `re.error`."""

    __module__ = "re"
    msg: str
    pos: int | None


class FrozenInstanceError(AttributeError, metaclass=Sealed):
    """The script's `dataclasses.FrozenInstanceError`."""

    __module__ = "dataclasses"


class LinAlgError(ValueError, metaclass=Sealed):
    """The script's `numpy.linalg.LinAlgError`."""

    __module__ = "numpy.linalg"


_OURS: Final[Mapping[type[Exception], type[Exception]]] = {
    json.JSONDecodeError: JSONDecodeError,
    statistics.StatisticsError: StatisticsError,
    struct.error: StructError,
    re.error: PatternError,
    dataclasses.FrozenInstanceError: FrozenInstanceError,
}
_DETAILS: Final = ("msg", "doc", "pos", "lineno", "colno")


def raising(
    function: Callable[..., Any], table: Mapping[type[Exception], type[Exception]] = _OURS
) -> Callable[..., Any]:
    """Wrap `function` to raise the exceptions of `table`'s values where the library raises those of its keys."""
    theirs = tuple(table)

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except theirs as error:
            ours = table[type(error)](*(str(part) for part in error.args))
            for name in _DETAILS:
                if hasattr(error, name):
                    setattr(ours, name, getattr(error, name))
            raise ours from None

    return call
