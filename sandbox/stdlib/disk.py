# SPDX-License-Identifier: GPL-3.0-or-later
"""The empty disk that a script sees. `os.path` and `pathlib` ask it, and the result notes each question."""

from __future__ import annotations

from typing import Any

from ..guard.seam import Guard

__all__ = ("Disk",)


class Disk:
    """The empty disk that a script sees. It answers questions about files, and notes them in the result."""

    def __init__(self, guard: Guard) -> None:
        self._meter = guard.meter

    def has(self, _path: Any) -> bool:
        """Return False for every file or folder, and note the question."""
        self._meter.warn(
            "a script sees no files: os.path.exists() and its like answered False; the tool list_files lists what "
            "there is in the allowed folders"
        )
        return False

    def make_folder(self, *_arguments: Any, **_options: Any) -> None:
        """Make no folder, and note the attempt."""
        self._meter.warn(
            "a script makes no folders: os.makedirs() and mkdir() did nothing; render_image, save_file and export_file "
            "make the files that you need"
        )
