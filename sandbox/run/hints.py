# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds hints to a script's own errors: which import is missing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

__all__ = ("hinted",)

_OTHER_NAMES: Final = {
    "np": "import numpy as np",
    "Path": "from pathlib import Path",
    **{
        name: f"from mathutils import {name}" for name in ("Color", "Euler", "Matrix", "Quaternion", "Vector")
    },
    **{name: f"from math import {name}" for name in ("cos", "pi", "radians", "sin", "sqrt", "tan")},
}
"""Names that scripts use without their modules, and how to import them."""


def hinted(error: Exception, imports: Collection[str]) -> Exception:
    """Return the error. If it misses a name of one of the modules `imports`, its text says how to import the name."""
    name = error.name if type(error) is NameError else None
    if type(name) is not str or len(error.args) != 1:
        return error
    statement = f"import {name}" if name in imports else _OTHER_NAMES.get(name, "")
    if statement and statement.split()[1] in imports:
        error.args = (f"{error.args[0]}: write {statement!r} first",)
    return error
