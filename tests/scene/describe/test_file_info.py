# SPDX-License-Identifier: GPL-3.0-or-later
"""What the open file holds and leans on."""

from __future__ import annotations

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene.describe import file_info

pytestmark = pytest.mark.usefixtures("empty_scene")


def test_unused_blocks_and_missing_files(tmp_path) -> None:
    bpy.data.materials.new("Idle")
    gone = bpy.data.images.new("Gone", 4, 4)
    gone.source, gone.filepath = "FILE", str(tmp_path / "gone.png")
    told = file_info.file_info()
    assert "Idle" in told["unused"]["materials"]
    assert told["counts"]["materials"] == 1
    assert {"kind": "images", "name": "Gone", "path": str(tmp_path / "gone.png")} in told["missing_files"]
    (tmp_path / "gone.png").touch()
    assert "Gone" not in [m["name"] for m in file_info.file_info()["missing_files"]]
    assert list(file_info.file_info(unused_only=True)) == ["unused"]
