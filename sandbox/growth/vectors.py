# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds NaN in vectors and colours that Blender limits, before Blender uses them.

A script that reads such a property gets a vector of mathutils, which writes each of its changes to the property, in
many ways: components, items, slices, operators, methods. A check of each of these would slow all vectors down. So the
sandbox keeps the vectors that a script has read of limited properties, and looks at these each time before Blender
evaluates the scene, and at the end.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

from mathutils import Color, Euler, Matrix, Quaternion, Vector

from ..guard.meter import closed

__all__ = ("KINDS", "Vectors")

#: The types of mathutils that write their changes to a property.
KINDS: Final = frozenset({Color, Euler, Matrix, Quaternion, Vector})
_ALONE: Final = next(sys.getrefcount(each[0]) for each in [[object()]])
"""The result of `sys.getrefcount` for an object to which only one list refers."""


class Vectors:
    """The vectors of limited properties that one run has read."""

    def __init__(self, refuse: Callable[[str], NoReturn]) -> None:
        self.refuse = refuse
        self._noted: list[Any] = []
        self._most = 64

    def note(self, vector: Any) -> None:
        """Note a vector that the script gets."""
        if len(self._noted) >= self._most:
            self.check()
            self._most = max(64, 2 * len(self._noted))
        self._noted.append(vector)

    def check(self) -> None:
        """Refuse NaN in the vectors; forget those that the script does not hold any more."""
        if self._noted:
            self._check()

    def mend(self) -> None:
        """Write 0 instead of NaN, in a run that has failed: Blender may evaluate the scene before the roll-back."""
        for vector in self._noted:
            with contextlib.suppress(ReferenceError, ValueError):
                _mend(vector)

    @closed("whether a vector is a finite one")
    def _check(self) -> None:
        noted = self._noted
        wrong = [vector for vector in noted if _is_wrong(vector)]
        if wrong:
            self.refuse(
                f"{_label(wrong[0].owner)} got a number that is not a number (NaN), with which Blender may crash: set "
                "a finite one"
            )
        self._noted = [noted[i] for i in range(len(noted)) if sys.getrefcount(noted[i]) > _ALONE]


def _label(array: Any) -> str:
    try:
        return f"{type(array.data).__name__}.{array.path_from_id().rpartition('.')[2]}"
    except (AttributeError, ValueError):
        return "a vector or colour"


def _is_wrong(vector: Any) -> bool:
    try:
        return any(number != number for row in _rows(vector) for number in row)
    except (ReferenceError, ValueError):  # its owner has been removed
        return False


def _rows(vector: Any) -> list[Any]:
    return [vector[row] for row in range(len(vector))] if type(vector) is Matrix else [vector]


def _mend(vector: Any) -> None:
    for row in _rows(vector):
        for index, number in enumerate(row):
            if number != number:
                row[index] = 0.0
