# SPDX-License-Identifier: GPL-3.0-or-later
"""How many pixels an image may have, in whichever way a script makes it: Blender itself has no limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..guard.seam import BlenderHost

__all__ = ("OPERATORS", "check_operator", "check_size")

_MOST_PIXELS = 8192 * 8192
_DEFAULT = 1024
"""The width and height of the operator `image.new`."""
OPERATORS = frozenset({"image.new", "image.resize"})
"""Operators that make pixels of the size that their arguments say."""


def check_size(host: BlenderHost, width: Any, height: Any, *, floats: Any = False) -> None:
    """Stop the run if an image of this size has too many pixels; Blender makes at least one each way."""
    if not (isinstance(width, int) and isinstance(height, int)):
        return
    if max(width, 1) * max(height, 1) > _MOST_PIXELS // (4 if floats else 1):
        host.exceed(f"an image of {width} x {height} pixels is too large for a script", limit="memory")


def check_operator(host: BlenderHost, idname: str, arguments: Mapping[str, Any]) -> None:
    """Check the arguments of an operator of `OPERATORS`."""
    size = arguments.get("size")
    pair = list(size) if isinstance(size, (list, tuple)) and len(size) == 2 else [_DEFAULT, _DEFAULT]
    width, height = arguments.get("width", pair[0]), arguments.get("height", pair[1])
    check_size(host, width, height, floats=arguments.get("float") or idname == "image.resize")
