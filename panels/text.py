# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that are longer than a panel is wide: Blender's labels do not wrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operators.dialogs.wrapping import fitting

if TYPE_CHECKING:
    import bpy

__all__ = ("paragraph",)

#: What the tabs, the margins of panel, box and label take of a region's width, and an icon more; at a scale of 1.
_MARGIN, _ICON = 72, 20
_NARROWEST = 80


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
    for number, line in enumerate(fitting(text, width, points * scale)):
        column.label(text=line, icon=icon if number == 0 or icon == "NONE" else "BLANK1")
