# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the pixels of images before a script changes them, and restores them: Blender's undo does not.

`bpy` is imported in the call, as in `cleanup`.
"""

from __future__ import annotations

import array
from dataclasses import dataclass
from typing import Any

__all__ = ("KeptPixels",)


@dataclass(frozen=True, slots=True)
class _Image:
    size: tuple[int, int]
    dirty: bool
    floats: array.array[float]


class KeptPixels:
    """The pixels that images had when a run first touched them."""

    def __init__(self) -> None:
        import bpy

        #: The user's images, by name; the roll-back removes the script's own images.
        self._before = set(bpy.data.images.keys())
        self._kept: dict[str, _Image] = {}

    def keep(self, image: Any) -> None:
        """Keep an image's pixels, once, before anything may change them."""
        name = image.name
        if name not in self._before or name in self._kept or image.library is not None:
            return
        floats = array.array("f", bytes(4 * len(image.pixels)))
        if floats:
            image.pixels.foreach_get(floats)
        self._kept[name] = _Image(tuple(image.size), image.is_dirty, floats)

    def restore(self) -> list[str]:
        """Restore changed pixels; return a sentence for each image that could not be restored."""
        import bpy

        failed: list[str] = []
        for name, kept in self._kept.items():
            image = bpy.data.images.get(name)
            if image is None:
                continue
            if not kept.dirty and (image.source == "FILE"):
                image.reload()  # unedited before: the file, or the packed data, has the pixels
            elif kept.floats:
                if tuple(image.size) != kept.size:
                    image.scale(*kept.size)
                if len(image.pixels) != len(kept.floats):
                    failed.append(f"the pixels of the image {name!r}")
                    continue
                now = array.array("f", bytes(4 * len(kept.floats)))
                image.pixels.foreach_get(now)
                if now != kept.floats:
                    image.pixels.foreach_set(kept.floats)
                    image.update()
        return failed
