# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens the copy of the user's scene in the confined Blender, and knows whether that is still the same scene."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .protocol import Request, SceneCopy

if TYPE_CHECKING:
    from ...scene.changes.difference import Mark

__all__ = ("OpenScene", "marked", "open_ahead", "open_copy")


@dataclass(frozen=True, slots=True)
class OpenScene:
    """A copy that this Blender has open and no script has used, and the mark of its state."""

    path: Path
    before: Mark

    def is_same(self, request: Request) -> bool:
        """Return whether the request's copy is of the same scene: with it, nothing needs to be opened."""
        from ...scene.fingerprint import saved_file

        if request["pixels"] or "save" in request:
            return False
        return saved_file.same_scenes(self.path, Path(request["scene"]))

    def remove(self) -> None:
        """Remove the files."""
        self.path.unlink()
        self.before.path.unlink()

    @contextlib.contextmanager
    def kept_for(self, seconds: float) -> Iterator[None]:
        """End this Blender after `seconds` in this context, so that the scene does not take memory for good."""

        def end() -> None:
            self.remove()
            os._exit(0)

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def open_ahead(copy: SceneCopy) -> OpenScene | None:
    """Open a copy before there is a script for it; None if that cannot be done."""
    with contextlib.suppress(RuntimeError):
        if not open_copy(copy, load_ui=False):
            return OpenScene(Path(copy["scene"]), marked("before"))
    return None


def open_copy(copy: SceneCopy, *, load_ui: bool) -> list[str]:
    """Open the copy; return a warning for each missing part. Raises RuntimeError if Blender cannot."""
    import bpy

    bpy.ops.wm.open_mainfile(filepath=copy["scene"], load_ui=load_ui, use_scripts=False)
    warnings = []
    for name, file in copy["pixels"].items():
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
