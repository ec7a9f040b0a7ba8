# SPDX-License-Identifier: GPL-3.0-or-later
"""Placing with the mouse, as far as it goes without a window: how it begins and ends, and which clicks are its own."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.importers.browse import Entry
from bl_ext.user_default.mcp_bridge.importers.polyhaven.asset import KINDS
from bl_ext.user_default.mcp_bridge.operators.assets import asset_view, placing
from bl_ext.user_default.mcp_bridge.panels.assets import MCP_BRIDGE_PT_assets
from mathutils import Vector

from support.on_screen.layout import draw

WALL = Entry("polyhaven", "brick_wall", "Brick Wall", "Ada", "CC0 1.0", "", "", kind="textures")
MODIFIERS = ("alt", "ctrl", "shift", "oskey")


@pytest.fixture
def area() -> Iterator[Any]:
    """The 3D view of a new file, which the context has."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    window = bpy.context.window
    found = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    with bpy.context.temp_override(window=window, area=found):
        yield found
    placing._end()


def event(area: Any, kind: str, value: str = "NOTHING", *held: str) -> Any:
    """An event in the middle of a 3D view."""
    keys = {name: name in held for name in MODIFIERS}
    x, y = area.x + area.width // 2, area.y + area.height // 2
    return SimpleNamespace(type=kind, value=value, mouse_x=x, mouse_y=y, **keys)


def answer(of: Any, *what: str, area: Any) -> set[str]:
    return placing._answer(bpy.context, of, event(area, *what))


def is_drawing(handler: Any) -> bool:
    """Whether a handler still draws: Blender refuses to remove it twice."""
    try:
        bpy.types.SpaceView3D.draw_handler_remove(handler, "WINDOW")
    except ValueError:
        return False
    return True


def test_a_script_without_a_3d_view_is_told_where_to_start() -> None:
    assert bpy.context.area is None
    with pytest.raises(RuntimeError, match="Start it from a 3D view: the mouse places the asset there"):
        bpy.ops.mcp_bridge.place_asset("INVOKE_DEFAULT", asset_id="brick_wall")
    assert placing._now is None


def test_it_draws_from_the_beginning_on(area: Any) -> None:
    begun = placing._begin(bpy.context, WALL)
    assert placing._now is begun
    assert placing._area_of(begun) == area
    assert is_drawing(begun.drawing)
    begun.drawing = bpy.types.SpaceView3D.draw_handler_add(placing._draw, (), "WINDOW", "POST_VIEW")


def test_an_extension_that_is_disabled_draws_no_more(area: Any) -> None:
    begun = placing._begin(bpy.context, WALL)
    placing.unregister()
    placing.register()
    assert placing._now is None
    assert not is_drawing(begun.drawing)


def test_another_placing_ends_the_first(area: Any) -> None:
    first = placing._begin(bpy.context, WALL)
    second = placing._begin(bpy.context, WALL)
    assert not is_drawing(first.drawing)
    assert answer(first, "MOUSEMOVE", area=area) == {"CANCELLED"}
    assert answer(second, "MOUSEMOVE", area=area) == {"RUNNING_MODAL"}


def test_a_3d_view_that_is_gone_ends_it(area: Any) -> None:
    begun = placing._begin(bpy.context, WALL)
    begun.area = 0  # no area is there
    assert answer(begun, "MOUSEMOVE", area=area) == {"CANCELLED"}
    placing._end()
    assert not is_drawing(begun.drawing)


def test_an_error_ends_it(area: Any) -> None:
    begun = placing._begin(bpy.context, WALL)
    operator = placing.MCP_BRIDGE_OT_place_asset
    running = SimpleNamespace(_placing=begun)
    running.cancel = lambda context: operator.cancel(running, context)
    with pytest.raises(AttributeError):
        operator.modal(running, bpy.context, SimpleNamespace())
    assert placing._now is None
    assert not is_drawing(begun.drawing)
    assert operator.modal(running, bpy.context, event(area, "MOUSEMOVE")) == {"CANCELLED"}


@pytest.mark.parametrize("button", ["LEFTMOUSE", "RIGHTMOUSE"])
@pytest.mark.parametrize("key", MODIFIERS)
def test_a_click_with_a_modifier_is_the_view_s(area: Any, button: str, key: str) -> None:
    begun = placing._begin(bpy.context, WALL)
    for value in ("PRESS", "DOUBLE_CLICK", "RELEASE"):
        assert answer(begun, button, value, key, area=area) == {"PASS_THROUGH"}
    assert not begun.pressed


@pytest.mark.parametrize("value", ["PRESS", "DOUBLE_CLICK"])
def test_a_press_without_one_is_taken(area: Any, value: str) -> None:
    begun = placing._begin(bpy.context, WALL)
    assert answer(begun, "LEFTMOUSE", value, area=area) == {"RUNNING_MODAL"}
    assert begun.pressed
    assert answer(begun, "RIGHTMOUSE", value, area=area) == {"CANCELLED"}
    assert answer(begun, "ESC", value, area=area) == {"CANCELLED"}


def test_moves_are_looked_at_by_the_timer(area: Any) -> None:
    begun = placing._begin(bpy.context, WALL)
    for _ in range(3):
        assert answer(begun, "MOUSEMOVE", area=area) == {"RUNNING_MODAL"}
    assert (begun.moved, begun.aim) == (True, None)


@pytest.mark.parametrize("kind", ["PERSP", "ORTHO"])
@pytest.mark.parametrize(("away", "there"), [(99.0, True), (101.0, False), (-1.0, False), (0.05, False)])
def test_only_what_lies_between_the_clips_is_seen(
    empty_scene: None, kind: str, away: float, there: bool
) -> None:
    bpy.ops.object.camera_add()
    camera = bpy.context.object
    camera.data.type, camera.data.clip_start, camera.data.clip_end = kind, 0.1, 100.0
    matrix = camera.calc_matrix_camera(bpy.context.evaluated_depsgraph_get(), x=100, y=100)
    assert placing._between_the_clips(matrix, Vector((0, 0, -away))) is there


@pytest.mark.parametrize(
    "wrong", [{"asset_id": 7}, {"asset_id": [1, 2]}, {"asset_map": 7}, {"asset_map": None}]
)
def test_a_picture_with_properties_of_others_offers_no_resolution(
    empty_scene: None, wrong: dict[str, Any]
) -> None:
    bpy.ops.mesh.primitive_cube_add()
    material = bpy.data.materials.new("Brick Wall")
    material.use_nodes = True
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = bpy.data.images.new("brick", 8, 8)
    bpy.context.object.data.materials.append(material)
    node.image["asset_id"], node.image["asset_map"] = "brick_wall", "diffuse"
    assert "mcp_bridge.switch_resolution" in draw(MCP_BRIDGE_PT_assets).operators()
    for name, value in wrong.items():
        if value is None:
            del node.image[name]
        else:
            node.image[name] = value
    assert "mcp_bridge.switch_resolution" not in draw(MCP_BRIDGE_PT_assets).operators()


@pytest.mark.parametrize("kind", [*KINDS, ""])
def test_the_mouse_places_models_and_textures(empty_scene: None, kind: str) -> None:
    asset_view.change(entries=(Entry("polyhaven", "x", "X", "Ada", "CC0 1.0", "", "", kind=kind),))
    drawn = draw(MCP_BRIDGE_PT_assets)
    asset_view.change(entries=())
    assert ("mcp_bridge.place_asset" in drawn.operators()) == (kind in {"models", "textures"})
