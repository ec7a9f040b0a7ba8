# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets the audit wall pass those operators that Blender has in Python and that a script may call.

They load modules when they are first used, and some show their own errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import bpy

from ...guard import audit

__all__ = ("trust",)


@lru_cache(maxsize=4)
def trust(operators: frozenset[str]) -> None:
    """Give the classes of these operators a grant for everything that they do. Call it before a script runs."""
    for kind in _classes(bpy.types.Operator):
        if getattr(kind, "bl_idname", None) in operators:
            bases: tuple[type, ...] = kind.__mro__[: kind.__mro__.index(bpy.types.Operator)]
            audit.trust(member for base in bases for member in vars(base).values())


def _classes(kind: type) -> Iterator[type]:
    below: list[type] = type.__subclasses__(kind)
    for each in below:
        yield each
        yield from _classes(each)
