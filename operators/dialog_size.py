# SPDX-License-Identifier: GPL-3.0-or-later
"""How large the dialog of a request may be: one that is higher than the window has its buttons outside of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ("Room", "of", "room")

#: Pixels of a row at a scale of 1, and how many rows title, buttons, reason, warnings and the gaps between take.
_UNIT = 20
_FRAME_ROWS = 8
_WIDEST = 720
#: The letters in a line of the widest, on the safe side.
_MOST_LETTERS = 104
_MOST_ROWS, _LEAST_ROWS = 11, 3
_MOST_SUMMARY, _LEAST_SUMMARY = 12, 3


@dataclass(frozen=True, slots=True)
class Room:
    """The dialog's width in pixels at a scale of 1, the letters in a line of it, and the rows that its lists get."""

    width: int
    columns: int
    script_rows: int
    summary_rows: int


def room(width: int, height: int, scale: float) -> Room:
    """What fits into a window of this size in pixels, at this resolution scale."""
    wide = min(_WIDEST, int(0.95 * width / scale))
    rows = int(height / (_UNIT * scale)) - _FRAME_ROWS
    script = max(_LEAST_ROWS, min(_MOST_ROWS, rows // 2))
    summary = max(_LEAST_SUMMARY, min(_MOST_SUMMARY, rows - script - 1))
    return Room(wide, wide * _MOST_LETTERS // _WIDEST, script, summary)


def of(context: Any) -> Room:
    """The room in the window of this context; as much as may be wanted where there is none."""
    window = context.window
    if window is None or not window.width:
        return room(2 * _WIDEST, 2 * _WIDEST, 1.0)
    return room(window.width, window.height, context.preferences.system.ui_scale)
