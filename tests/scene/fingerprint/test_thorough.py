# SPDX-License-Identifier: GPL-3.0-or-later
"""What nothing is evaluated anew for changes the revision all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene import events
from bl_ext.user_default.mcp_bridge.scene.fingerprint.quick import quick_fingerprint
from bl_ext.user_default.mcp_bridge.scene.fingerprint.thorough import thorough_fingerprint


@pytest.fixture(autouse=True)
def _watching(empty_scene: None) -> Iterator[None]:
    events.register()
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    cube.modifiers.new("Smooth", "SUBSURF")
    cube.modifiers.new("Rows", "ARRAY")
    cube.constraints.new("LIMIT_LOCATION")
    cube.keyframe_insert("location", frame=1)
    cube.keyframe_insert("location", frame=30)
    material = bpy.data.materials.new("Unused")
    material.use_nodes = True
    other = bpy.data.scenes.new("Other")
    other.collection.objects.link(bpy.data.objects.new("Elsewhere", bpy.data.meshes.new("There")))
    bpy.data.collections.new("Loose")
    bpy.context.scene.timeline_markers.new("Start", frame=3)
    bpy.data.node_groups.new("Group", "ShaderNodeTree").nodes.new("ShaderNodeMath")
    events.settled()
    yield
    events.unregister()


def _nodes() -> Any:
    return bpy.data.materials["Unused"].node_tree


def _link(tree: Any) -> None:
    tree.links.remove(tree.links[0])


#: What a user or another extension may do while a question waits, and nothing is evaluated for.
CHANGES: dict[str, Callable[[], Any]] = {
    "how an object is shown": lambda: setattr(bpy.data.objects["Cube"], "display_type", "WIRE"),
    "a lock": lambda: setattr(bpy.data.objects["Cube"], "lock_location", (True, False, False)),
    "what a ray sees": lambda: setattr(bpy.data.objects["Cube"], "visible_shadow", False),
    "levels for the render": lambda: setattr(bpy.data.objects["Cube"].modifiers[0], "render_levels", 4),
    "another scene's object": lambda: setattr(bpy.data.objects["Elsewhere"], "location", (1, 2, 3)),
    "another scene's parent": lambda: setattr(
        bpy.data.objects["Elsewhere"], "parent", bpy.data.objects["Cube"]
    ),
    "an unused material": lambda: setattr(bpy.data.materials["Unused"], "metallic", 0.7),
    "an unused node": lambda: setattr(_nodes().nodes[0].inputs[0], "default_value", (1, 0, 0, 1)),
    "an unused node's link": lambda: _link(_nodes()),
    "a new unused node": lambda: _nodes().nodes.new("ShaderNodeRGB"),
    "an unused group's node": lambda: setattr(
        bpy.data.node_groups["Group"].nodes[0], "operation", "SUBTRACT"
    ),
    "an unused collection": lambda: setattr(bpy.data.collections["Loose"], "instance_offset", (1, 0, 0)),
    "a marker": lambda: setattr(bpy.context.scene.timeline_markers[0], "frame", 9),
    "the 3D cursor": lambda: setattr(bpy.context.scene.cursor, "location", (1, 1, 1)),
    "a view layer's pass": lambda: setattr(bpy.context.view_layer, "use_pass_mist", True),
    "the unit of a lens": lambda: setattr(bpy.data.cameras.new("Lens"), "lens_unit", "FOV"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_it_counts_once(change: Callable[[], Any]) -> None:
    before = events.settled()
    change()
    after = events.settled()
    assert after > before
    assert events.settled() == after


LOOKS: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "selecting": lambda: bpy.ops.object.select_all(action="INVERT"),
    "another frame, where something has moved": lambda: bpy.context.scene.frame_set(17),
    "unfolding a modifier": lambda: setattr(bpy.data.objects["Cube"].modifiers[0], "show_expanded", False),
    "choosing a modifier": lambda: setattr(bpy.data.objects["Cube"].modifiers[1], "is_active", True),
    "a panel's list": lambda: bpy.context.window_manager.mcp_bridge_requests.add(),
    "choosing a tool's setting": lambda: setattr(
        bpy.context.scene.tool_settings, "use_snap", not bpy.context.scene.tool_settings.use_snap
    ),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_looking_around_does_not_count(look: Callable[[], Any]) -> None:
    before = events.settled()
    look()
    assert events.settled() == before


def test_what_is_changed_at_another_frame_counts_from_there_on() -> None:
    bpy.context.scene.frame_set(17)
    before = events.settled()
    bpy.data.objects["Cube"].show_name = True
    assert events.settled() > before


def test_a_quick_look_passes_over_it() -> None:
    before = events.settled()
    bpy.data.objects["Cube"].show_name = True
    assert events.settled(quick=True) == before
    assert events.settled() > before


def test_a_property_of_another_extension_counts_and_is_not_made_by_looking() -> None:
    bpy.types.Object.of_another_extension = bpy.props.IntProperty()
    try:
        before = events.settled()
        bpy.data.objects["Cube"].of_another_extension = 7
        assert events.settled() > before
    finally:
        del bpy.types.Object.of_another_extension
    before = quick_fingerprint()
    thorough_fingerprint()
    assert quick_fingerprint() == before


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    thorough_fingerprint()
    assert capfd.readouterr().err == ""


def test_many_alike_are_read_together() -> None:
    for number in range(40):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(f"o{number}", None))
    before = thorough_fingerprint()
    bpy.data.objects["o20"].show_name = True
    changed = thorough_fingerprint()
    bpy.data.objects["o20"].show_name = False
    assert before != changed
    assert before == thorough_fingerprint()
