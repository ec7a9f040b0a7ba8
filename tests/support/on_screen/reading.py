# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads texts on a screen, so that tests press what a user reads, at any place where Blender draws it.

A program for text recognition (tesseract) returns words with their places; `find` searches for words that follow each
other.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

__all__ = ("WAYS", "Rectangle", "Way", "Word", "find", "words")

_OTHER_SIGNS = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A part of the screen, in pixels from its top left corner."""

    x: int
    y: int
    width: int
    height: int

    @property
    def middle(self) -> tuple[int, int]:
        """The place to click."""
        return self.x + self.width // 2, self.y + self.height // 2


@dataclass(frozen=True, slots=True)
class Way:
    """A way to prepare a picture: how many times to enlarge it, as letters are small, and how to make it plain."""

    scale: int
    filters: str


#: One way finds what another misses: bright texts; dim ones; large dark ones, as in bright themes.
WAYS = (Way(3, "-threshold 55% -negate"), Way(2, "-lat 20x20+10% -negate"), Way(1, "-threshold 40%"))


@dataclass(frozen=True, slots=True)
class Word:
    """A word, its line, and its place on the screen in pixels."""

    text: str
    line: tuple[int, ...]
    left: float
    top: float
    width: float
    height: float


def words(run: Callable[..., str], part: Rectangle, way: Way, *, turned: bool = False) -> list[Word]:
    """Read a part of the screen; with `turned` the texts that run downwards.

    Args:
        run: runs a command on the screen and returns its output, as `Screen.run` does.
    """
    crop = f"{part.width}x{part.height}+{part.x}+{part.y}"
    turn = "-rotate -90" if turned else ""
    steps = (
        f"import -window root -crop {crop} +repage png:-",
        f"convert png:- {turn} -colorspace Gray -resize {way.scale}00% {way.filters} png:-",
        "OMP_THREAD_LIMIT=1 tesseract stdin stdout --psm 11 tsv 2>/dev/null",
    )
    table = run("sh", "-c", " | ".join(steps))
    found = []
    for row in csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        if not (row["text"] or "").strip():
            continue
        left, top, width, height = (int(row[name]) / way.scale for name in ("left", "top", "width", "height"))
        if turned:
            left, top, width, height = part.width - top - height, left, height, width
        line = tuple(int(row[name]) for name in ("block_num", "par_num", "line_num"))
        found.append(Word(row["text"], line, part.x + left, part.y + top, width, height))
    return found


def find(words: list[Word], text: str) -> list[Rectangle]:
    """Return each place of `text` on one line, the topmost first. Only letters and digits count, in any case."""
    wanted = _plain(text)
    found = []
    for _, line in groupby(words, key=lambda word: word.line):
        read = [word for word in line if _plain(word.text)]
        for first in range(len(read)):
            for last in range(first, len(read)):
                part = read[first : last + 1]
                if _plain("".join(word.text for word in part)) == wanted:
                    found.append(_around(part))
    return sorted(found, key=lambda place: place.y)


def _plain(text: str) -> str:
    return _OTHER_SIGNS.sub("", text).casefold()


def _around(words: list[Word]) -> Rectangle:
    left, top = min(word.left for word in words), min(word.top for word in words)
    right = max(word.left + word.width for word in words)
    bottom = max(word.top + word.height for word in words)
    return Rectangle(round(left), round(top), round(right - left), round(bottom - top))
