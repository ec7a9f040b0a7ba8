# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the size of a request's dialog. If it were higher than the window, its buttons would be out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ("UNIT", "Size", "in_window", "largest_picture", "of")

#: Pixels of a row at a scale of 1, and how many rows title, buttons, reason, warnings and the gaps between take.
UNIT = 20
_FRAME_ROWS = 12
_WIDEST = 760
#: The width of a line's number, its mark, the scroll bar and the margins, in pixels at a scale of 1.
_LINE_FRAME = 110
#: The number of letters in a line of the widest dialog; a careful estimate.
_MOST_LETTERS = 109
_MOST_ROWS, _LEAST_ROWS = 18, 3
_MOST_SUMMARY, _LEAST_SUMMARY = 12, 3


@dataclass(frozen=True, slots=True)
class Size:
    """The dialog's width in pixels at a scale of 1, the letters in a line of it, and the rows that its lists get."""

    width: int
    columns: int
    script_rows: int
    summary_rows: int

    def letters_width(self, *, beside: bool) -> float:
        """The pixels that a line of the script has, at a scale of 1; `beside`: beside pictures."""
        return max(UNIT * 4.0, self.width / (2 if beside else 1) - _LINE_FRAME)

    @property
    def picture_units(self) -> float:
        """The height and width of a picture in units of a row: half the dialog, as high as the script."""
        return min(self.width / 2 / UNIT, self.script_rows)


def in_window(width: int, height: int, scale: float) -> Size:
    """The largest dialog in a window of this size in pixels, at this resolution scale."""
    wide = min(_WIDEST, int(0.95 * width / scale))
    rows = int(height / (UNIT * scale)) - _FRAME_ROWS
    script = max(_LEAST_ROWS, min(_MOST_ROWS, rows * 3 // 5))
    summary = max(_LEAST_SUMMARY, min(_MOST_SUMMARY, rows - script - 1))
    return Size(wide, wide * _MOST_LETTERS // _WIDEST, script, summary)


def of(context: Any) -> Size:
    """The largest dialog in the window of this context; without a window, the largest of all."""
    window = context.window
    if window is None or not window.width:
        return in_window(2 * _WIDEST, 2 * _WIDEST, 1.0)
    return in_window(window.width, window.height, context.preferences.system.ui_scale)


def largest_picture(context: Any) -> int:
    """The width and height of a picture that has a window to itself, in pixels at a scale of 1."""
    window = context.window
    if window is None or not window.width:
        return 2 * _WIDEST
    return int(0.85 * min(window.width, window.height) / context.preferences.system.ui_scale)
