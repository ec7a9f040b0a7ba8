# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene import events


@pytest.fixture
def watching(empty_scene: None) -> Iterator[None]:
    events.register()
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.view_layer.update()
    events.take()
    yield
    events.unregister()


def test_a_change_counts_and_names_its_object(watching: None) -> None:
    before = events.revision()
    bpy.data.objects["Cube"].location.x = 3
    bpy.context.view_layer.update()
    assert events.revision() > before
    assert events.take().objects == {"Cube"}
    assert not events.take()


def test_selection_alone_is_told_but_does_not_count(watching: None) -> None:
    before = events.revision()
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.update()
    assert events.take().selection
    assert events.revision() == before


def test_many_changes_tell_the_listener_once_until_somebody_looks(watching: None) -> None:
    told: list[int] = []
    stop = events.listen(lambda: told.append(1))
    for number in range(50):
        bpy.data.objects["Cube"].location.x = number
        bpy.context.view_layer.update()
    assert told == [1]
    events.take()
    bpy.data.objects["Cube"].location.x = -1
    bpy.context.view_layer.update()
    assert told == [1, 1]
    stop()
    events.take()
    bpy.data.objects["Cube"].location.x = -2
    bpy.context.view_layer.update()
    assert told == [1, 1]


def test_a_flood_only_counts_as_everything(watching: None) -> None:
    mesh = bpy.data.meshes.new("Mesh")
    for number in range(700):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(f"o{number}", mesh))
    bpy.context.view_layer.update()
    assert events.take().everything


def test_loading_a_file_is_everything_and_watching_goes_on(watching: None) -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    assert events.take().everything
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.view_layer.update()
    assert "Cube" in events.take().objects


def test_unregister_leaves_no_handler(watching: None) -> None:
    events.register()
    events.unregister()
    for name in ("depsgraph_update_post", "undo_post", "redo_post", "load_post"):
        assert not [h for h in getattr(bpy.app.handlers, name) if h.__module__ == events.__name__]
