# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads bitmap files (BMP) with 24 bits a pixel, as Blender writes them."""

from __future__ import annotations

import struct
from typing import Any

__all__ = ("decode", "rgb")


def rgb(data: bytes) -> tuple[int, int, bytes]:
    """Return width, height, and red, green and blue of each pixel, from the top left on.

    The file has rows of blue, green and red from the bottom up, padded to four bytes. Raises ValueError for a file of
    another kind.
    """
    start, width, height, bits = (
        struct.unpack_from(kind, data, offset)[0]
        for kind, offset in (("<I", 10), ("<i", 18), ("<i", 22), ("<H", 28))
    )
    if data[:2] != b"BM" or bits != 24:
        raise ValueError("Blender wrote no bitmap with 24 bits a pixel")
    row = 3 * width
    filled = (row + 3) // 4 * 4
    pixels = bytearray(
        b"".join(
            data[start + filled * line : start + filled * line + row] for line in reversed(range(height))
        )
    )
    pixels[0::3], pixels[2::3] = pixels[2::3], pixels[0::3]
    return width, height, bytes(pixels)


def decode(data: bytes) -> Any:
    """Return the pixels as an array of RGBA floats (height, width, 4), rows from the bottom up; alpha is 1.

    Raises ValueError as `rgb` does.
    """
    import numpy as np

    width, height, pixels = rgb(data)
    decoded = np.ones((height, width, 4), dtype=np.float32)
    decoded[..., :3] = np.frombuffer(pixels, dtype=np.uint8).reshape(height, width, 3)[::-1] / np.float32(255)
    return decoded
