# SPDX-License-Identifier: GPL-3.0-or-later
"""The bounds of slices as integers."""

from __future__ import annotations

import operator
from typing import Any, Final

from ..reentry import may_call_scripts

__all__ = ("known_bounds",)


def known_bounds(key: slice) -> slice:
    """Return the slice with integer bounds: bounds of a script's class run code, which could change the sequence."""
    if all(type(each) in _BOUNDS for each in (key.start, key.stop, key.step)):
        return key
    return slice(*map(_bound, (key.start, key.stop, key.step)))


_BOUNDS: Final = frozenset({int, type(None)})


def _bound(each: Any) -> Any:
    """Return the integer for which Python takes a bound; Python itself refuses any other value."""
    return operator.index(each) if hasattr(type(each), "__index__") else each


may_call_scripts(globals())
