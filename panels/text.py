# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that are longer than a panel is wide: Blender's labels do not wrap."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import blf

if TYPE_CHECKING:
    import bpy

__all__ = ("paragraph",)

_PIECE = re.compile(r"[^\s/\\]*[/\\]\s*|[^\s/\\]+\s*|\s+")
#: What the tabs, the margins of panel, box and label take of a region's width, and an icon more; at a scale of 1.
_MARGIN, _ICON = 72, 20
_NARROWEST = 80
#: The font of the interface.
_FONT = 0


def paragraph(
    layout: bpy.types.UILayout, text: str, context: bpy.types.Context, *, icon: Any = "NONE"
) -> None:
    """Draw `text` as lines that fit the region, the first with `icon`, the others below its text."""
    preferences: Any = context.preferences
    scale = preferences.system.ui_scale
    margin = _MARGIN + (_ICON if icon != "NONE" else 0)
    width = max(_NARROWEST * scale, context.region.width - margin * scale)
    points = preferences.ui_styles[0].widget.points
    column = layout.column(align=True)
    column.scale_y = 0.8
    for number, line in enumerate(_fitting(text, width, points * scale)):
        column.label(text=line, icon=icon if number == 0 or icon == "NONE" else "BLANK1")


@lru_cache(maxsize=256)
def _fitting(text: str, width: float, size: float) -> tuple[str, ...]:
    """`text` in lines of at most `width` pixels, in the interface's font at `size` pixels."""
    blf.size(_FONT, size)
    return _lines(text, width, lambda part: blf.dimensions(_FONT, part)[0])  # type: ignore[index] # two floats


def _lines(text: str, width: float, measure: Callable[[str], float]) -> tuple[str, ...]:
    """`text` in lines that are at most so wide, broken after spaces and after the slashes of a path."""
    lines, line = [], ""
    for piece in _PIECE.findall(text):
        if line and measure(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
        while measure(line.rstrip()) > width:
            fits = _fits(line, width, measure)
            lines.append(line[:fits])
            line = line[fits:]
    return (*lines, line.rstrip()) if line.strip() else tuple(lines)


def _fits(line: str, width: float, measure: Callable[[str], float]) -> int:
    """How many letters of a line fit; one at least."""
    return max((count for count in range(1, len(line)) if measure(line[:count]) <= width), default=1)
