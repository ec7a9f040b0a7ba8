# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that a script sees: none. What `os.path` and `pathlib` ask of them is answered, and noted in the result."""

from __future__ import annotations

from typing import Any

from ..guard.seam import Guard

__all__ = ("Disk",)


class Disk:
    """The files that a script sees: none. What it asks and wants to make is answered, and noted in the result."""

    def __init__(self, guard: Guard) -> None:
        self._meter = guard.meter

    def has(self, _path: Any) -> bool:
        """Whether there is such a file or folder."""
        self._meter.warn(
            "a script sees no files: os.path.exists() and its like answered False; the tool list_files lists what "
            "there is in the allowed folders"
        )
        return False

    def make_folder(self, *_arguments: Any, **_options: Any) -> None:
        """Make a folder."""
        self._meter.warn(
            "a script makes no folders: os.makedirs() and mkdir() did nothing; render_image, save_file and export_file "
            "make the files that you need"
        )
