# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene.fingerprint.saved_file import digests


def _save(path: Path, *, compress: bool = False) -> Path:
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=compress)
    return path


@pytest.fixture(autouse=True)
def _scene() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def test_every_data_block_has_one_by_its_name(tmp_path: Path) -> None:
    bpy.data.meshes.new("Ünïcode").use_fake_user = True
    found = digests(_save(tmp_path / "file.blend"))
    for item in (*bpy.data.objects, *bpy.data.meshes, *bpy.data.materials, *bpy.data.scenes):
        assert item.name in found or not item.users


def test_what_changed_has_another_one_and_what_did_not_has_the_same(tmp_path: Path) -> None:
    before = digests(_save(tmp_path / "before.blend"))
    tree = bpy.data.materials["Material"].node_tree
    tree.nodes["Principled BSDF"].inputs["Roughness"].default_value = 0.1
    after = digests(_save(tmp_path / "after.blend"))
    assert after["Material"] != before["Material"]
    assert after["Cube"] == before["Cube"]


def test_neighbours_in_a_list_do_not_count(tmp_path: Path) -> None:
    before = digests(_save(tmp_path / "before.blend"))
    bpy.data.meshes.new("Between")
    after = digests(_save(tmp_path / "after.blend"))
    assert after["Cube"] == before["Cube"]


def test_any_other_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"PNG and so on")
    with pytest.raises(ValueError, match=r"this is no uncompressed \.blend file"):
        digests(other)
    with pytest.raises(ValueError, match=r"this is no uncompressed \.blend file"):
        digests(_save(tmp_path / "compressed.blend", compress=True))
