# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from RNA which parameters a function of Blender has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

__all__ = ("parameters",)


def parameters(path: str) -> Sequence[Any]:
    """Return the parameters of `Struct.function`, with its results; none for a function that RNA does not know."""
    struct, function = path.split(".")
    rna = getattr(getattr(bpy.types, struct, None), "bl_rna", None)
    found = rna.functions.get(function) if rna is not None else None
    return found.parameters if found is not None else ()
