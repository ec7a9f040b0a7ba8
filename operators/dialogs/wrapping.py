# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks texts into lines as wide as what they are drawn in: Blender's labels do not wrap, but leave letters out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache

import blf

__all__ = ("fitting",)

_PIECE = re.compile(r"[^\s/\\]{0,199}[/\\]\s{0,200}|[^\s/\\]{1,200}\s{0,200}|\s{1,200}")
#: The font of the interface.
_FONT = 0


@lru_cache(maxsize=256)
def fitting(text: str, width: float, size: float) -> tuple[str, ...]:
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
    return max(1, bisect_right(range(1, len(line)), width, key=lambda count: measure(line[:count])))
