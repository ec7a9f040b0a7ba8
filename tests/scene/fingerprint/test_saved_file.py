# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene.fingerprint.saved_file import changed


def _save(path: Path, *, compress: bool = False) -> Path:
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=compress)
    return path


@pytest.fixture(autouse=True)
def _scene() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def _changed(folder: Path, change: Callable[[], object]) -> set[str]:
    before = _save(folder / "before.blend")
    change()
    return changed(before, _save(folder / "after.blend"))


def test_every_data_block_is_found_by_its_name(tmp_path: Path) -> None:
    bpy.data.meshes.new("Ünïcode").use_fake_user = True
    whole = _save(tmp_path / "whole.blend")
    names = {item.name for item in (*bpy.data.objects, *bpy.data.meshes, *bpy.data.materials) if item.users}
    bpy.data.batch_remove((*bpy.data.objects, *bpy.data.meshes, *bpy.data.materials))
    assert names <= changed(whole, _save(tmp_path / "without.blend"))
    assert names <= changed(tmp_path / "without.blend", whole)


def test_what_changed_is_found_and_what_did_not_is_not(tmp_path: Path) -> None:
    tree = bpy.data.materials["Material"].node_tree

    def change() -> None:
        tree.nodes["Principled BSDF"].inputs["Roughness"].default_value = 0.1

    found = _changed(tmp_path, change)
    assert "Material" in found
    # A scene has addresses of its own data, which Blender 4.5 places anew at each save.
    assert not found & {"Cube", "Light", "Collection", "World"}


def test_data_at_the_end_of_a_data_block_counts(tmp_path: Path) -> None:
    mesh = bpy.data.objects["Cube"].data

    def change() -> None:
        mesh.attributes["position"].data[7].vector.z += 1

    assert "Cube" in _changed(tmp_path, change)


def test_neighbours_in_a_list_do_not_count(tmp_path: Path) -> None:
    found = _changed(tmp_path, lambda: setattr(bpy.data.meshes.new("Between"), "use_fake_user", True))
    assert "Between" in found
    assert "Cube" not in found


def test_a_large_file_is_compared_to_its_end(tmp_path: Path) -> None:
    """Larger than what is read at once: with long blocks, and with many short ones."""
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=400, y_subdivisions=400)
    for number in range(2000):
        bpy.data.meshes.new(f"Mesh {number:04}").use_fake_user = True
    last = bpy.data.meshes["Mesh 1999"]
    found = _changed(tmp_path, lambda: last.vertices.add(1))
    assert (tmp_path / "before.blend").stat().st_size > 4 << 20
    assert {name for name in found if name.startswith(("Mesh", "Grid"))} == {"Mesh 1999"}


def test_any_other_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"PNG and so on")
    with pytest.raises(ValueError, match=r"this is no uncompressed \.blend file"):
        changed(other, other)
    with pytest.raises(ValueError, match=r"this is no uncompressed \.blend file"):
        changed(_save(tmp_path / "plain.blend"), _save(tmp_path / "compressed.blend", compress=True))
