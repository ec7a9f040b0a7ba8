# SPDX-License-Identifier: GPL-3.0-or-later
"""Read images of the open file as input pictures. Main thread."""

from __future__ import annotations

import tempfile
from pathlib import Path

import bpy

from ...base.errors import InvalidParamsError
from ...base.similar_names import did_you_mean
from .api import Picture
from .pictures import recognise

__all__ = ("picture",)


def picture(name: str) -> Picture:
    """An image of the file as PNG; the image itself does not change. Raises InvalidParamsError."""
    image = bpy.data.images.get(name)
    if image is None:
        raise InvalidParamsError(
            f"There is no image {name!r} in this file.{did_you_mean(name, bpy.data.images.keys())}"
        )
    copy = image.copy()
    try:
        with tempfile.TemporaryDirectory(prefix="mcp-bridge-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, "picture.png")
            copy.file_format = "PNG"
            copy.filepath_raw = str(path)
            copy.save()
            return recognise(path.read_bytes())
    except (RuntimeError, OSError) as error:
        raise InvalidParamsError(f"The image {name!r} can't be read: {error}.") from None
    finally:
        bpy.data.images.remove(copy)
