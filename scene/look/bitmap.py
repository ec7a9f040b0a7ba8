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
    width, height, start, row, padded = _layout(data)
    pixels = bytearray(
        b"".join(
            data[start + padded * line : start + padded * line + row] for line in reversed(range(height))
        )
    )
    pixels[0::3], pixels[2::3] = pixels[2::3], pixels[0::3]
    return width, height, bytes(pixels)


def decode(data: bytes) -> Any:
    """Return the pixels as an array of RGBA floats (height, width, 4), rows from the bottom up; alpha is 1.

    Raises ValueError as `rgb` does.
    """
    import numpy as np

    width, height, start, row, padded = _layout(data)
    lines = np.frombuffer(data, np.uint8, padded * height, start).reshape(height, padded)
    decoded = np.ones((height, width, 4), dtype=np.float32)
    decoded[..., :3] = lines[:, :row].reshape(height, width, 3)[..., ::-1]
    decoded[..., :3] /= np.float32(255)
    return decoded


def _layout(data: bytes) -> tuple[int, int, int, int, int]:
    """Return width, height, where the pixels start, and the bytes of a row without and with its padding.

    Raises ValueError for a file that is no bitmap with 24 bits a pixel.
    """
    start, width, height, bits = (
        struct.unpack_from(kind, data, offset)[0]
        for kind, offset in (("<I", 10), ("<i", 18), ("<i", 22), ("<H", 28))
    )
    if data[:2] != b"BM" or bits != 24:
        raise ValueError("Blender wrote no bitmap with 24 bits a pixel")
    row = 3 * width
    return width, height, start, row, (row + 3) // 4 * 4
