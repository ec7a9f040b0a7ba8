# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens the copy of the user's scene in the confined Blender, and knows whether that is still the same scene."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...scene.changes.difference import Mark

__all__ = ("OpenScene", "marked", "open_ahead", "open_copy")


@dataclass(frozen=True, slots=True)
class OpenScene:
    """A copy that this Blender has open and no script has used, and the mark of its state."""

    path: Path
    before: Mark

    def is_same(self, copy: Path) -> bool:
        """Return whether another copy is of the same scene."""
        from ...scene.fingerprint import saved_file

        return saved_file.same_scenes(self.path, copy)

    @contextlib.contextmanager
    def kept_for(self, seconds: float) -> Iterator[None]:
        """End this Blender after `seconds` in this context, so that the scene does not take memory for good."""

        def end() -> None:
            for path in (self.path, self.before.path):
                with contextlib.suppress(OSError):  # the parent removes the folder later
                    path.unlink()
            os._exit(0)

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def open_ahead(copy: Path) -> OpenScene | None:
    """Open a copy before there is a script for it; None if Blender cannot."""
    try:
        open_copy(str(copy), {}, load_ui=False)
    except RuntimeError:
        return None
    return OpenScene(copy, marked("before"))


def open_copy(copy: str, pixels: Mapping[str, str], *, load_ui: bool) -> list[str]:
    """Open a copy, and put unsaved painting into its images: image name -> file of 32-bit floats.

    Returns a warning for each image that could not be painted. Raises RuntimeError if Blender cannot open the copy.
    """
    import bpy

    bpy.ops.wm.open_mainfile(filepath=copy, load_ui=load_ui, use_scripts=False)
    warnings = []
    for name, file in pixels.items():
        image = bpy.data.images.get(name)
        numbers = array("f")
        numbers.frombytes(Path(file).read_bytes())
        if image is not None and len(image.pixels) == len(numbers):
            image.pixels.foreach_set(numbers)
            image.update()
        else:
            warnings.append(f"unsaved painting on {name!r} is not part of the rehearsal")
    return warnings


def marked(when: str) -> Mark:
    """Return the mark of the state now, `before` or `after` the script."""
    from ...scene.changes import difference

    return difference.mark(Path(tempfile.gettempdir()) / f"{when}.blend")
