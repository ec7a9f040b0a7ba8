# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the open scene that nobody notices."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import snapshot
from bl_ext.user_default.mcp_bridge.scene import events


@pytest.fixture(autouse=True)
def _scene() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def test_nobody_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither file name, nor "unsaved changes", nor undo, nor preferences, nor other add-ons' handlers."""
    monkeypatch.setattr(snapshot, "_WORTH_KEEPING_S", 60.0)
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
        snapshot.release(snapshot.take(tmp_path))
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


def test_a_slow_copy_is_used_again_until_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "_WORTH_KEEPING_S", 0.0)
    events.register()
    try:
        first = snapshot.take(tmp_path)
        assert snapshot.take(tmp_path) is first
        bpy.data.objects["Cube"].location.x += 1
        bpy.context.view_layer.update()
        second = snapshot.take(tmp_path)
    finally:
        events.unregister()
    assert second is not first
    snapshot.release(first)
    assert first.path.exists(), "it was taken twice"
    snapshot.release(first)
    assert not first.path.exists()
    assert snapshot.take(tmp_path) is not second, "without handlers nobody knows whether something changed"


def test_a_quick_copy_goes_when_nobody_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_WORTH_KEEPING_S", 60.0)
    copy = snapshot.take(tmp_path)
    assert copy.path.exists()
    snapshot.release(copy)
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(ExternalServiceError, match=r"Blender could not copy the scene for a rehearsal: "):
        snapshot.take(tmp_path / "missing")
