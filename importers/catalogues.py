# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogues of Blender's asset browser: the file `blender_assets.cats.txt` beside a .blend. No `bpy`.

Source: Blender's manual, "Asset Catalogs", format version 1: a line `UUID:path/of/catalogue:simple name` each.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..base import atomic
from ..base.errors import ExternalServiceError

__all__ = ("FILE", "add", "is_id")

FILE = "blender_assets.cats.txt"
_HEAD = "# Catalogues of Blender's asset browser.\n\nVERSION 1\n\n"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_id(text: str) -> bool:
    """Whether this can be a catalogue's id."""
    return _ID.fullmatch(text.lower()) is not None


def add(folder: Path, catalogue_id: str, path: str) -> None:
    """Add a catalogue to this folder's file if it is missing; other lines stay. Raises ExternalServiceError."""
    file = folder / FILE
    try:
        known = file.read_text(encoding="utf-8") if file.exists() else _HEAD
        if any(line.startswith(f"{catalogue_id}:") for line in known.splitlines()):
            return
        clean = path.replace(":", "-").replace("\n", " ")
        text = f"{known.rstrip()}\n{catalogue_id}:{clean}:{clean.replace('/', '-')}\n"
        atomic.write(file, text.encode())
    except OSError as error:
        raise ExternalServiceError(f"{file} can't be written: {error.strerror or error}.") from error
