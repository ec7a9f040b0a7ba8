# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the names of objects into a picture, beside the objects. No `bpy`; rectangles in pixels, y upwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import letters

__all__ = ("Box", "place", "write")

_LONGEST = 18
#: Margin around the letters, in letter pixels.
_MARGIN = 1
#: A name further than this from its object, in heights of the name, gets a line to the object.
_NEAR = 0.6
#: The least cost of covering an object, however large it is.
_LEAST = 0.3
#: The greatest distance from the object, in heights of the name.
_RINGS = 5


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: its lower left corner, its width and height."""

    x: float
    y: float
    width: float
    height: float

    def shared(self, other: Box) -> float:
        """Return the area of the overlap, in square pixels."""
        across = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        up = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(0.0, across) * max(0.0, up)

    def gap(self, other: Box) -> float:
        """Return the distance between two boxes in pixels, 0 if they touch."""
        across = max(self.x, other.x) - min(self.x + self.width, other.x + other.width)
        up = max(self.y, other.y) - min(self.y + self.height, other.y + other.height)
        return max(0.0, across, up)

    @property
    def area(self) -> float:
        """The area of the box in square pixels."""
        return self.width * self.height

    @property
    def center(self) -> tuple[float, float]:
        """The centre in pixels, from the left and from below."""
        return self.x + self.width / 2, self.y + self.height / 2


def place(named: Mapping[str, Box], room: Box, size: int) -> dict[str, Box]:
    """Find a place for each name: beside its object, over no other name, and over as little of the objects as possible.

    `named`: the boxes of the objects, most important first; `room`: the box that names may use; `size` as in `letters`.
    A name without a free place is left out.
    """
    found: dict[str, Box] = {}
    for name, box in named.items():
        width = letters.width(shortened(name), size) + 2 * _MARGIN * size
        height = (letters.HEIGHT + 2 * _MARGIN) * size
        if width > room.width:
            continue
        free = [
            spot
            for spot in _spots(box, room, width, height)
            if not any(spot.shared(other) for other in found.values())
        ]
        if free:
            found[name] = min(free, key=lambda spot: _cost(spot, box, named, room))
    return found


def shortened(name: str) -> str:
    """Return a name in the short form that the picture shows."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 2]}.."


def write(pixels: Any, text: str, spot: Box, box: Box, size: int) -> None:
    """Write a name at the place from `place`, on a background that keeps it readable on light and dark."""
    x, y, right, top = (round(v) for v in (spot.x, spot.y, spot.x + spot.width, spot.y + spot.height))
    if spot.gap(box) > _NEAR * spot.height:
        _line(pixels, spot.center, box.center)
    pixels[y:top, x:right, :3] *= 0.2
    letters.draw(pixels, shortened(text), x + _MARGIN * size, y + _MARGIN * size, size)


def _spots(box: Box, room: Box, width: float, height: float) -> Iterator[Box]:
    """Yield possible places: around the object at growing distance, then over its centre; all inside the room."""
    middle, level = box.x + (box.width - width) / 2, box.y + (box.height - height) / 2
    right, top = room.x + room.width - width, room.y + room.height - height
    wanted = []
    for away in range(_RINGS):
        above, below = box.y + box.height + 1 + away * height, box.y - (away + 1) * height - 1
        after, before = box.x + box.width + 1 + away * height, box.x - width - 1 - away * height
        wanted += [(middle, above), (middle, below), (after, level), (before, level)]
        wanted += [(x, y) for y in (above, below) for x in (after, before)]
    wanted.append((middle, level))
    for x, y in wanted:
        yield Box(min(max(x, room.x), right), min(max(y, room.y), top), width, height)


def _cost(spot: Box, box: Box, named: Mapping[str, Box], room: Box) -> float:
    """Return the cost of a place: the area that it covers, as a share of the name, and its distance from the object.

    A name hides little of a large object, so a name may lie anywhere on an object that fills the room.
    """
    covered = sum(
        spot.shared(other) * max(_LEAST, 1 - 2 * other.area / room.area) for other in named.values()
    )
    return covered / spot.area + spot.gap(box) / (2 * spot.height)


def _line(pixels: Any, begin: tuple[float, float], end: tuple[float, float]) -> None:
    steps = int(max(abs(end[0] - begin[0]), abs(end[1] - begin[1]), 1))
    for step in range(steps + 1):
        x, y = (round(a + (b - a) * step / steps) for a, b in zip(begin, end, strict=True))
        if 0 <= y < pixels.shape[0] and 0 <= x < pixels.shape[1]:
            pixels[y, x, :3] = (1.0, 1.0, 1.0) if step % 4 < 2 else (0.0, 0.0, 0.0)
