# SPDX-License-Identifier: GPL-3.0-or-later
"""What must not be left behind is found and undone, whatever way it came about."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.process import collector
from bl_ext.user_default.mcp_bridge.sandbox.run.cleanup import Snapshot


@pytest.fixture(autouse=True)
def _default_scene() -> Iterator[None]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    yield
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def left_behind(change: object) -> list[str]:
    with collector.off():
        before = Snapshot()
        change()  # type: ignore[operator]
        said = before.remove_left_behind()
        assert before.remove_left_behind() == [], "the second look finds nothing more"
    return said


def test_nothing_is_found_where_nothing_was_left() -> None:
    assert left_behind(lambda: bpy.ops.mesh.primitive_cube_add()) == []


def test_handlers() -> None:
    before = list(bpy.app.handlers.frame_change_post)

    def change() -> None:
        bpy.app.handlers.frame_change_post.append(print)
        bpy.app.handlers.load_post[:] = []

    said = left_behind(change)
    assert any("frame_change_post" in each for each in said)
    assert list(bpy.app.handlers.frame_change_post) == before


def test_driver_namespace() -> None:
    said = left_behind(lambda: bpy.app.driver_namespace.__setitem__("evil", print))
    assert "evil" in said[0]
    assert "evil" not in bpy.app.driver_namespace


def test_registered_class_and_property() -> None:
    class EXAMPLE_OT_left(bpy.types.Operator):
        bl_idname = "example.left"
        bl_label = "Left"

    def change() -> None:
        bpy.utils.register_class(EXAMPLE_OT_left)
        bpy.types.Scene.left_over = bpy.props.IntProperty()

    said = left_behind(change)
    assert len(said) == 2
    assert not hasattr(bpy.types, "EXAMPLE_OT_left")
    assert not hasattr(bpy.types.Scene, "left_over")


def test_a_replaced_and_a_removed_member_of_a_type_are_as_before() -> None:
    def first(_scene: object) -> None: ...

    bpy.types.Scene.replaced = bpy.props.IntProperty(default=7)
    bpy.types.Object.removed = first
    try:

        def change() -> None:
            bpy.types.Scene.replaced = bpy.props.FloatProperty()
            del bpy.types.Object.removed
            bpy.types.Object.added = lambda _object: None

        assert sorted(left_behind(change)) == [
            "bpy.types.Object.added was registered and is removed again",
            "bpy.types.Object.removed was replaced or removed and is as before",
            "bpy.types.Scene.replaced was replaced or removed and is as before",
        ]
        assert bpy.context.scene.replaced == 7
        assert bpy.types.Object.removed is first
        assert not hasattr(bpy.types.Object, "added")
    finally:
        del bpy.types.Scene.replaced, bpy.types.Object.removed


class EXAMPLE_OT_known(bpy.types.Operator):
    """A class that is there before the first snapshot."""

    bl_idname = "example.known"
    bl_label = "Known"


def test_what_the_user_registers_between_two_runs_stays() -> None:
    assert left_behind(lambda: None) == []
    bpy.utils.register_class(EXAMPLE_OT_known)
    try:
        assert left_behind(lambda: None) == []
        assert EXAMPLE_OT_known.is_registered
    finally:
        bpy.utils.unregister_class(EXAMPLE_OT_known)


def test_a_class_of_an_addon_that_was_switched_off_since_the_last_run() -> None:
    addons = bpy.context.preferences.addons
    addon = addons.new()
    addon.module = "example"
    bpy.utils.register_class(EXAMPLE_OT_known)
    assert left_behind(lambda: None) == []
    bpy.utils.unregister_class(EXAMPLE_OT_known)
    addons.remove(addon)
    said = left_behind(lambda: bpy.utils.register_class(EXAMPLE_OT_known))
    assert said == ["the Operator EXAMPLE_OT_known was registered and is unregistered again"]


def test_a_class_that_was_made_meanwhile() -> None:
    assert left_behind(lambda: None) == []
    made = type("EXAMPLE_OT_made", (bpy.types.Operator,), {"bl_idname": "example.made", "bl_label": "Made"})
    assert "EXAMPLE_OT_made" in left_behind(lambda: bpy.utils.register_class(made))[0]


def test_a_class_that_the_script_makes_itself() -> None:
    class Mixin(bpy.types.Panel):
        bl_space_type, bl_region_type = "VIEW_3D", "UI"

        def draw(self, context: object) -> None: ...

    def change() -> None:
        made = type("EXAMPLE_PT_made", (Mixin,), {"bl_idname": "EXAMPLE_PT_made", "bl_label": "Made"})
        bpy.utils.register_class(made)

    said = left_behind(change)
    assert said == ["the Mixin EXAMPLE_PT_made was registered and is unregistered again"]
    assert not hasattr(bpy.types, "EXAMPLE_PT_made")


def test_a_snapshot_keeps_no_class_alive() -> None:
    made = type("EXAMPLE_OT_made", (bpy.types.Operator,), {"bl_idname": "example.made", "bl_label": "Made"})
    alive = weakref.ref(made)
    assert left_behind(lambda: None) == []
    del made
    gc.collect()
    assert alive() is None


def test_driver_expression() -> None:
    def change() -> None:
        bpy.data.objects["Cube"].driver_add("location", 0).driver.expression = "__import__('os').getpid()"

    assert "could run code" in left_behind(change)[0]
    assert bpy.data.objects["Cube"].animation_data.drivers[0].driver.expression == "0"


def test_an_expression_that_was_there_stays() -> None:
    bpy.data.objects["Cube"].driver_add("location", 0).driver.expression = "bpy.context.scene.frame_current"
    assert left_behind(lambda: bpy.ops.mesh.primitive_cube_add()) == []


def test_text_flag() -> None:
    text = bpy.data.texts.new("x.py")
    assert "would have run" in left_behind(lambda: setattr(text, "use_module", True))[0]
    assert not text.use_module


def test_paths() -> None:
    def change() -> None:
        image = bpy.data.images.new("i", 4, 4)
        image.source = "FILE"
        image.filepath_raw = "\\\\host\\share\\x.png"
        bpy.context.scene.render.filepath = "/etc/passwd"

    said = left_behind(change)
    assert len(said) == 2
    assert bpy.data.images["i"].filepath_raw == ""
    assert bpy.context.scene.render.filepath != "/etc/passwd"


def test_preferences() -> None:
    edit = bpy.context.preferences.edit
    was = edit.undo_steps
    assert "edit.undo_steps" in left_behind(lambda: setattr(edit, "undo_steps", was - 5))[0]
    assert edit.undo_steps == was


def test_keymap() -> None:
    config = bpy.context.window_manager.keyconfigs.user

    def change() -> None:
        keymap = config.keymaps.new("3D View", space_type="VIEW_3D")
        keymap.keymap_items.new("script.python_file_run", "A", "PRESS")

    assert left_behind(change)


def test_session_is_restored() -> None:
    before = Snapshot()
    cursor = bpy.context.scene.cursor
    cursor.location = (1, 2, 3)
    tools = bpy.context.scene.tool_settings
    tools.use_snap = not tools.use_snap
    was = not tools.use_snap
    spaces = [
        s for a in bpy.context.window_manager.windows[0].screen.areas for s in a.spaces if s.type == "VIEW_3D"
    ]
    shading = spaces[0].shading
    before_type = shading.type
    shading.type = "WIREFRAME"
    assert before.restore_session() == []
    assert tuple(cursor.location) == (0, 0, 0)
    assert tools.use_snap == was
    assert shading.type == before_type
