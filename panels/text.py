# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that are longer than a panel is wide: Blender's labels do not wrap."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import bpy

__all__ = ("paragraph",)

_PIECE = re.compile(r"[^\s/\\]*[/\\]\s*|[^\s/\\]+\s*|\s+")
#: The mean width of a letter, and what icons, margins and the box take, in pixels at a scale of 1.
_LETTER = 6.4
_MARGIN = 52


def paragraph(
    layout: bpy.types.UILayout, text: str, context: bpy.types.Context, *, icon: Any = "NONE"
) -> None:
    """Draw `text` as lines that fit the region, the first with `icon`, the others below its text."""
    scale = context.preferences.system.ui_scale
    columns = max(16, int((context.region.width / scale - _MARGIN) / _LETTER))
    column = layout.column(align=True)
    column.scale_y = 0.8
    for number, line in enumerate(_lines(text, columns)):
        column.label(text=line, icon=icon if number == 0 or icon == "NONE" else "BLANK1")


@lru_cache(maxsize=256)
def _lines(text: str, columns: int) -> tuple[str, ...]:
    """`text` in lines of at most `columns` letters, broken after spaces and after the slashes of a path."""
    lines, line = [], ""
    for piece in _PIECE.findall(text):
        if line and len(line) + len(piece.rstrip()) > columns:
            lines.append(line.rstrip())
            line = ""
        line += piece
        while len(line.rstrip()) > columns:
            lines.append(line[:columns])
            line = line[columns:]
    return (*lines, line.rstrip()) if line.strip() else tuple(lines)
