# SPDX-License-Identifier: GPL-3.0-or-later
"""Exceptions of the library that a script may catch: the library's own classes could be changed by whoever holds them.

`raising(function)` makes a function raise these in place of the library's.
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
    """`json.JSONDecodeError`."""

    __module__ = "json"
    msg: str
    doc: str
    pos: int
    lineno: int
    colno: int


class StatisticsError(ValueError, metaclass=Sealed):
    """`statistics.StatisticsError`."""

    __module__ = "statistics"


class StructError(Exception, metaclass=Sealed):
    """`struct.error`."""

    __module__ = "struct"


class PatternError(Exception, metaclass=Sealed):
    """`re.error`."""

    __module__ = "re"
    msg: str
    pos: int | None


class FrozenInstanceError(AttributeError, metaclass=Sealed):
    """`dataclasses.FrozenInstanceError`."""

    __module__ = "dataclasses"


class LinAlgError(ValueError, metaclass=Sealed):
    """`numpy.linalg.LinAlgError`."""

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
    """Return `function`, which raises our exceptions where the library raises its own: ours by the library's."""
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
