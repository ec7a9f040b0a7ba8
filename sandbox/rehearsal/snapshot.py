# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies the open scene for a rehearsal, without a trace in the open Blender. Main thread only.

The user's file, undo steps, "unsaved changes" marks and other add-ons' handlers stay as they are. Unsaved painted
pixels are in files beside the copy, as 32-bit floats.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.errors import ExternalServiceError

__all__ = ("Snapshot", "take")

#: Handlers that saving calls. Copying the scene must not call them: the user has not saved.
_SILENCED = ("save_pre", "save_post", "save_post_fail", "depsgraph_update_pre", "depsgraph_update_post")
_MOST_PIXEL_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy on disk. `seconds`: how long the copying blocked the window."""

    path: Path
    #: Files that the .blend refers to: libraries, images, sounds, fonts, caches.
    files: tuple[Path, ...]
    #: Image name -> file of its pixels.
    pixels: dict[str, Path]
    warnings: tuple[str, ...]
    size: int
    seconds: float

    def remove(self) -> None:
        """Remove the copy; a process that has already opened it can go on reading it."""
        for path in (self.path, *self.pixels.values()):
            with contextlib.suppress(
                OSError
            ):  # Windows cannot remove an open file; the supervisor removes its folder later
                path.unlink(missing_ok=True)


def take(folder: Path) -> Snapshot:
    """Copy the open scene into `folder`. The caller has to remove the copy.

    Nothing is kept for a next time: to find out whether the scene has changed takes longer than to copy it.

    Raises:
        ExternalServiceError: Blender cannot write it.
    """
    import bpy

    begin = time.perf_counter()
    path = folder / f"{secrets.token_hex(8)}.blend"
    pixels: dict[str, Path] = {}
    try:
        with _unnoticed():
            bpy.ops.wm.save_as_mainfile(
                filepath=str(path), copy=True, relative_remap=True, compress=False, check_existing=False
            )
        warnings = _save_pixels(folder, pixels)
        for written in (path, *pixels.values()):
            os.chmod(written, 0o644)  # only this folder's owner gets in; the child may be another user
    except (RuntimeError, OSError) as error:
        for written in (path, *pixels.values()):
            written.unlink(missing_ok=True)
        raise ExternalServiceError(f"Blender could not copy the scene for a rehearsal: {error}") from None
    files = tuple(
        file for name in bpy.utils.blend_paths(absolute=True, packed=True) if (file := Path(name)).is_file()
    )
    seconds = time.perf_counter() - begin
    return Snapshot(path, files, pixels, tuple(warnings), path.stat().st_size, seconds)


@contextlib.contextmanager
def _unnoticed() -> Iterator[None]:
    """Make saving quiet inside this context: no thumbnail, no packing, no handlers, no marked preferences."""
    import bpy

    filepaths, preferences = bpy.context.preferences.filepaths, bpy.context.preferences
    settings: list[tuple[Any, str, Any]] = [
        (filepaths, "file_preview_type", "NONE"),
        (bpy.data, "use_autopack", False),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in settings]
    dirty = preferences.is_dirty
    handlers = {name: list(getattr(bpy.app.handlers, name)) for name in _SILENCED}
    try:
        for owner, name, value in settings:
            if getattr(owner, name) != value:
                setattr(owner, name, value)
        for name in handlers:
            getattr(bpy.app.handlers, name).clear()
        yield
    finally:
        for name, functions in handlers.items():
            getattr(bpy.app.handlers, name)[:] = functions
        for owner, name, value in before:
            if getattr(owner, name) != value:
                setattr(owner, name, value)
        preferences.is_dirty = dirty


def _save_pixels(folder: Path, saved: dict[str, Path]) -> list[str]:
    """Write the pixels of images with unsaved painting; adds each file to `saved` before it writes it.

    Returns a warning for each image that is left out. Raises OSError.
    """
    import bpy

    warnings: list[str] = []
    room = _MOST_PIXEL_BYTES
    for image in bpy.data.images:
        if not image.is_dirty or image.library is not None or not image.has_data:
            continue
        room -= 4 * len(image.pixels)
        if room < 0:
            warnings.append(f"unsaved painting on {image.name!r} is too large to be part of the rehearsal")
            continue
        numbers = array("f", bytes(4 * len(image.pixels)))
        image.pixels.foreach_get(numbers)
        path = folder / f"{secrets.token_hex(8)}.pixels"
        saved[image.name] = path
        with path.open("wb") as file:
            numbers.tofile(file)
    return warnings
