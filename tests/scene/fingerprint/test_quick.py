# SPDX-License-Identifier: GPL-3.0-or-later
"""What no handler hears of changes the revision all the same; looking around does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene import events
from bl_ext.user_default.mcp_bridge.scene.fingerprint.quick import quick_fingerprint


@pytest.fixture(autouse=True)
def _watching(empty_scene: None) -> Iterator[None]:
    events.register()
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object["tags"] = {"a": [1, 2], "of": bpy.data.materials.new("M")}
    events.settled()
    yield
    events.unregister()


def _rename() -> None:
    bpy.data.objects["Cube"].name = "Box"


def _custom_property() -> None:
    bpy.data.objects["Cube"]["tags"]["a"][1] = 3


def _fake_user() -> None:
    bpy.data.materials["M"].use_fake_user = True


def _resolution() -> None:
    bpy.context.scene.render.resolution_x = 99


def _new_data() -> None:
    bpy.data.meshes.new("Another")


def _text() -> None:
    bpy.data.texts.new("Notes").write("x")


@pytest.mark.parametrize(
    "change",
    [_rename, _custom_property, _fake_user, _resolution, _new_data, _text],
    ids=lambda do: do.__name__,
)
def test_a_change_that_no_handler_hears_of_counts(change: Callable[[], None]) -> None:
    before = events.settled()
    change()
    after = events.settled()
    assert after > before
    assert events.settled() == after


def _select() -> None:
    bpy.ops.object.select_all(action="DESELECT")


def _go_to_frame() -> None:
    bpy.context.scene.frame_set(17)


@pytest.mark.parametrize("look", [_select, _go_to_frame, lambda: None])
def test_looking_around_does_not_count(look: Callable[[], Any]) -> None:
    before = events.settled()
    look()
    assert events.settled() == before


def test_the_same_scene_has_the_same_digest_after_undo_and_redo() -> None:
    bpy.ops.ed.undo_push(message="before")
    before = quick_fingerprint()
    _rename()
    bpy.ops.ed.undo_push(message="renamed")
    assert quick_fingerprint() != before
    bpy.ops.ed.undo()
    assert quick_fingerprint() == before
