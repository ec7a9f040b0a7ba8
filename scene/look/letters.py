# SPDX-License-Identifier: GPL-3.0-or-later
"""A small font for pictures, three pixels wide and five high. Blender's own text drawing needs a graphics card."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

__all__ = ("HEIGHT", "can_write", "draw", "width")

HEIGHT = 5
#: Five rows of three bits each, from the top, as octal digits.
_GLYPHS = {
    **dict(zip("0123456789", "75557 26227 71747 71717 55711 74717 74757 71222 75757 75717".split(), strict=True)),
    **dict(
        zip(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "25755 65656 34443 65556 74647 74644 34553 55755 72227 11152 55655 44447 57755 65555 25552 65644 "
            "25573 65655 34216 72222 55557 55552 55775 55255 55222 71247".split(),
            strict=True,
        )
    ),
    ".": "00002", "-": "00700", "_": "00007", ":": "02020", "/": "11244", " ": "00000", "#": "57575", "+": "02720",
    "(": "12221", ")": "42224", ",": "00024",
}  # fmt: skip
_UNKNOWN = "77777"


def _plain(text: str) -> str:
    """Return the text in capital letters without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text).upper() if not unicodedata.combining(c))


def can_write(text: str) -> bool:
    """Return whether the font has every letter of the text."""
    return _GLYPHS.keys() >= set(_plain(text))


def width(text: str, size: int) -> int:
    """Return the width of a text in pixels."""
    return (4 * len(_plain(text)) - 1) * size


def draw(pixels: Any, text: str, x: int, y: int, size: int) -> None:
    """Draw a text into RGBA floats (rows from the bottom up), with its lower left corner at x, y. Clips at the edge."""
    height, across = pixels.shape[:2]
    for character in _plain(text):
        if x + 3 * size > across or y + HEIGHT * size > height:
            return
        rows = _GLYPHS.get(character, _UNKNOWN)
        bits = np.array([[int(row) >> (2 - column) & 1 for column in range(3)] for row in reversed(rows)])
        shape = np.kron(bits, np.ones((size, size), dtype=int)).astype(bool)
        pixels[y : y + shape.shape[0], x : x + shape.shape[1]][shape] = (1.0, 1.0, 1.0, 1.0)
        x += 4 * size
