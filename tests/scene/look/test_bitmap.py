# SPDX-License-Identifier: GPL-3.0-or-later
"""Bitmap files that Blender writes, against Blender's own reader."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.scene.look import bitmap


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 2), (4, 4), (5, 7), (64, 32)])
def test_it_reads_what_blender_reads(size: tuple[int, int], tmp_path: Path) -> None:
    """Rows are padded to four bytes, so each width from 1 to 4 is another case."""
    width, height = size
    image = bpy.data.images.new("noise", width, height)
    try:
        image.pixels.foreach_set(np.random.default_rng(7).random(width * height * 4, dtype=np.float32))
        image.file_format = "BMP"
        image.save(filepath=str(tmp_path / "noise.bmp"))
    finally:
        bpy.data.images.remove(image)
    read = bpy.data.images.load(str(tmp_path / "noise.bmp"))
    try:
        expected = np.array(read.pixels[:], dtype=np.float32).reshape(height, width, 4)
    finally:
        bpy.data.images.remove(read)
    data = (tmp_path / "noise.bmp").read_bytes()
    np.testing.assert_allclose(bitmap.decode(data), expected, atol=1e-6)
    *found, pixels = bitmap.rgb(data)
    assert found == [width, height]
    from_the_top = (expected[::-1, :, :3] * 255).round().astype(np.uint8)
    assert pixels == from_the_top.tobytes()


@pytest.mark.parametrize("data", [b"\x89PNG" + bytes(60), b"BM" + bytes(60)])
def test_another_kind_of_file_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="Blender wrote no bitmap with 24 bits a pixel"):
        bitmap.decode(data)
