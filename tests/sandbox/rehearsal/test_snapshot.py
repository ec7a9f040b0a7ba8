# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the open scene that nobody notices."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import snapshot


@pytest.fixture(autouse=True)
def _scene() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def test_nobody_notices(tmp_path: Path) -> None:
    """Neither file name, nor "unsaved changes", nor undo, nor preferences, nor other add-ons' handlers."""
    called: list[str] = []

    def handler(*_: object) -> None:
        called.append("save")

    for name in ("save_pre", "save_post", "depsgraph_update_post"):
        getattr(bpy.app.handlers, name).append(handler)
    preferences = bpy.context.preferences
    preferences.filepaths.file_preview_type = "AUTO"
    preferences.is_dirty = False
    bpy.data.use_autopack = True
    bpy.data.objects["Cube"].location.x = 7
    bpy.context.view_layer.update()
    called.clear()
    before = (bpy.data.filepath, bpy.data.is_dirty, bpy.data.is_saved)
    try:
        snapshot.take(tmp_path).remove()
        handlers = [
            handler in getattr(bpy.app.handlers, name)
            for name in ("save_pre", "save_post", "depsgraph_update_post")
        ]
    finally:
        for name in ("save_pre", "save_post", "depsgraph_update_post"):
            getattr(bpy.app.handlers, name).remove(handler)
    assert called == []
    assert handlers == [True] * 3
    assert (bpy.data.filepath, bpy.data.is_dirty, bpy.data.is_saved) == before
    assert (preferences.filepaths.file_preview_type, preferences.is_dirty) == ("AUTO", False)
    assert bpy.data.use_autopack
    bpy.data.use_autopack = False
    assert list(tmp_path.iterdir()) == []


def test_each_copy_has_the_scene_of_now(tmp_path: Path) -> None:
    """Also after a change that calls no handler and makes no undo step."""
    mesh = bpy.data.meshes["Cube"]
    first = snapshot.take(tmp_path)
    mesh.vertices.foreach_set("co", [7.0] * 3 * len(mesh.vertices))
    second = snapshot.take(tmp_path)
    for copy, expected in ((first, 1.0), (second, 7.0)):
        with bpy.data.libraries.load(str(copy.path)) as (_there, wanted):
            wanted.meshes = ["Cube"]
        assert abs(wanted.meshes[0].vertices[0].co.x) == expected
        copy.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(ExternalServiceError, match=r"Blender could not copy the scene for a rehearsal: "):
        snapshot.take(tmp_path / "missing")
