# SPDX-License-Identifier: GPL-3.0-or-later
"""Place an asset with the mouse: the 3D view shows where a model would stand, or which object takes a texture."""

# No `from __future__ import annotations` here: Blender reads the properties from the annotations.

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import StringProperty
from bpy_extras import view3d_utils
from mathutils import Matrix, Vector, geometry

from . import asset_view
from .importing import takes_a_texture

if TYPE_CHECKING:
    from ...importers.browse import Entry

__all__ = ("Aim", "aim_at", "register", "unregister")

#: Regions of a 3D view that may lie over the scene.
_OVER_IT = frozenset({"UI", "HEADER", "TOOL_HEADER", "TOOLS", "ASSET_SHELF"})
#: The sides in metres of a model whose service tells no size.
_UNKNOWN = (1.0, 1.0, 1.0)
#: Seconds from one look at what is under the mouse to the next.
_INTERVAL_S = 0.03
_PRESSES = frozenset({"PRESS", "DOUBLE_CLICK"})
_COLOUR, _WIDTH = (0.2, 0.7, 1.0, 1.0), 2.0
#: The corners of a box as Blender gives them (`Object.bound_box`), and its edges.
_CORNERS = tuple((x, y, z) for x in (-0.5, 0.5) for y, z in ((-0.5, 0), (-0.5, 1), (0.5, 1), (0.5, 0)))
_EDGES = tuple(edge for k in range(4) for edge in ((k, (k + 1) % 4), (4 + k, 4 + (k + 1) % 4), (k, 4 + k)))


@dataclass(frozen=True, slots=True)
class Aim:
    """What the mouse points at: a place, and the name of the object there, if there is one that takes a texture."""

    place: Vector
    name: str = ""


@dataclass(slots=True)
class _Placing:
    """The placing that is under way. It keeps addresses of area and window: Blender may free both at any time."""

    entry: "Entry"
    #: Addresses of the 3D view whose header explains what a click does, and of its window.
    area: int
    window: int
    drawing: Any
    timer: Any
    aim: Aim | None = None
    #: Whether the mouse has moved since the last look.
    moved: bool = False
    pressed: bool = False


_now: _Placing | None = None


def aim_at(context: bpy.types.Context, region: bpy.types.Region, x: float, y: float) -> Aim:
    """What is under a pixel of the window: a surface, else the ground, else as far away as the 3D cursor."""
    view: Any = region.data
    pixel = (x - region.x, y - region.y)
    origin = view3d_utils.region_2d_to_origin_3d(region, view, pixel)
    direction = view3d_utils.region_2d_to_vector_3d(region, view, pixel)
    depsgraph = context.evaluated_depsgraph_get()
    hit, place, _normal, _index, item, _matrix = context.scene.ray_cast(depsgraph, origin, direction)
    if hit:
        return Aim(place, item.original.name if takes_a_texture(item.original) else "")
    ground = geometry.intersect_line_plane(origin, origin + direction, Vector(), Vector((0, 0, 1)))
    if ground is None or not _between_the_clips(view.perspective_matrix, ground):
        cursor = context.scene.cursor.location
        ground = view3d_utils.region_2d_to_location_3d(region, view, pixel, cursor)
    return Aim(ground)


def _between_the_clips(perspective: Matrix, place: Vector) -> bool:
    """Whether a place is neither behind a view, nor nearer or farther than it shows."""
    seen: Vector = perspective @ place.to_4d()
    return abs(seen.z) <= seen.w


class MCP_BRIDGE_OT_place_asset(bpy.types.Operator):
    """Import it where you click in the 3D view: a model stands there, a texture goes onto the object there"""

    bl_idname = "mcp_bridge.place_asset"
    bl_label = "Place Asset"
    bl_options = {"INTERNAL"}

    asset_id: StringProperty(options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not asset_view.may_import(cls):
            return False
        if context.window is None or context.area is None or context.area.type != "VIEW_3D":
            cls.poll_message_set("Start it from a 3D view: the mouse places the asset there")
            return False
        return True

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        entry = asset_view.entry(self.asset_id)
        if entry is None:
            self.report({"WARNING"}, "This asset is no longer shown")
            return {"CANCELLED"}
        self._placing = _begin(context, entry)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        answer = {"CANCELLED"}
        try:
            answer = _answer(context, self._placing, event)
        finally:  # an error ends the placing, too
            if answer & {"CANCELLED", "FINISHED"}:
                self.cancel(context)
        return answer

    def cancel(self, context: bpy.types.Context) -> None:
        """Restore the header and the cursor, unless another asset is being placed by now."""
        if _now is self._placing:
            _end()


def _begin(context: bpy.types.Context, entry: "Entry") -> _Placing:
    """Show what a click in the 3D view of this context does, in its header and by the cursor."""
    global _now
    _end()
    views: Any = bpy.types.SpaceView3D
    area: Any = context.area
    drawing = views.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")
    timer = context.window_manager.event_timer_add(_INTERVAL_S, window=context.window)
    _now = _Placing(entry, area.as_pointer(), context.window.as_pointer(), drawing, timer)
    context.window.cursor_modal_set("CROSSHAIR")
    area.header_text_set(_explanation(_now))
    return _now


def _end() -> None:
    """Restore the header and the cursor, if an asset is being placed."""
    global _now
    if _now is None:
        return
    was, _now = _now, None
    views: Any = bpy.types.SpaceView3D
    views.draw_handler_remove(was.drawing, "WINDOW")
    bpy.context.window_manager.event_timer_remove(was.timer)
    for window in bpy.context.window_manager.windows:
        if window.as_pointer() == was.window:
            window.cursor_modal_restore()
    _clear(_area_of(was))


def _area_of(placing: _Placing) -> Any:
    """The 3D view whose header explains the click; None if it is closed or hidden. A closed one crashes Blender."""
    windows = bpy.context.window_manager.windows
    areas = (area for window in windows for area in window.screen.areas)
    return next((area for area in areas if area.as_pointer() == placing.area), None)


def _clear(area: Any) -> None:
    if area is not None:
        area.header_text_set(None)
        area.tag_redraw()


def _answer(context: bpy.types.Context, placing: _Placing, event: bpy.types.Event) -> set[Any]:
    """Act on an event of the mouse or the keyboard."""
    if _now is not placing or _area_of(placing) is None:
        return {"CANCELLED"}
    if event.type == "TIMER":
        if placing.moved:
            _look(context, placing, event)
        return {"PASS_THROUGH"}
    if event.type == "MOUSEMOVE":
        placing.moved = True
        return {"RUNNING_MODAL"}
    # A keymap may turn the view with a button and a key.
    plain = event.value in _PRESSES and not (event.alt or event.ctrl or event.shift or event.oskey)
    if event.type == "ESC" or (event.type == "RIGHTMOUSE" and plain):
        return {"CANCELLED"}
    if event.type == "LEFTMOUSE":
        if plain:
            placing.pressed = True
            return {"RUNNING_MODAL"}
        # Not on the press: Blender would then select something on the release.
        if placing.pressed and event.value == "RELEASE":
            placing.pressed = False
            return _click(context, placing, event)
    beside = _under(context, event.mouse_x, event.mouse_y)[1] is None
    return {"RUNNING_MODAL"} if beside else {"PASS_THROUGH"}  # the view can be turned meanwhile


def _click(context: bpy.types.Context, placing: _Placing, event: bpy.types.Event) -> set[Any]:
    """Import the asset to where the mouse points; beside the scene, end."""
    _look(context, placing, event)
    texture, aim = placing.entry.kind == "textures", placing.aim
    if aim is None:
        return {"CANCELLED"}
    if texture and not aim.name:
        return {"RUNNING_MODAL"}
    _end()
    ops: Any = bpy.ops.mcp_bridge  # type: ignore[attr-defined]
    onto = aim.name if texture else ""
    ops.import_asset("INVOKE_DEFAULT", asset_id=placing.entry.id, placed=True, location=aim.place, onto=onto)
    return {"FINISHED"}


def _look(context: bpy.types.Context, placing: _Placing, event: bpy.types.Event) -> None:
    """Note what the mouse points at, and tell it in the 3D view under the mouse; beside one, in the last one."""
    area, region = _under(context, event.mouse_x, event.mouse_y)
    placing.moved = False
    placing.aim = None if region is None else aim_at(context, region, event.mouse_x, event.mouse_y)
    before = _area_of(placing)
    if area is None:
        area = before
    elif area != before:
        _clear(before)
        placing.area = area.as_pointer()
    area.header_text_set(_explanation(placing))
    area.tag_redraw()


def _explanation(placing: _Placing) -> str:
    """What a click does now, for the header of the 3D view."""
    title, aim = placing.entry.title, placing.aim
    if placing.entry.kind != "textures":
        said = f"Click: Place {title} Here"
    elif aim is not None and aim.name:
        said = f"Click: Put {title} onto {aim.name}"
    else:
        said = f"Point at the Object That Gets {title}"
    return f"{said}   Esc: Cancel"


def _draw() -> None:
    placing, area = _now, bpy.context.area
    if placing is None or placing.aim is None or area is None or area.as_pointer() != placing.area:
        return
    _draw_lines(_outline(placing.entry, placing.aim))


def _under(context: bpy.types.Context, x: int, y: int) -> tuple[Any, Any]:
    """The 3D view under a pixel of the window, and its region with the scene, unless something lies over it."""
    for area in context.window.screen.areas:
        if area.type == "VIEW_3D" and _has(area, x, y):
            here = [region for region in area.regions if _has(region, x, y)]
            if any(region.type in _OVER_IT for region in here):
                return area, None
            return area, next((region for region in here if region.type == "WINDOW"), None)
    return None, None


def _has(part: Any, x: int, y: int) -> bool:
    """Whether a pixel lies in an area or a region; one that is hidden is a pixel wide or high."""
    inside = 0 <= x - part.x < part.width and 0 <= y - part.y < part.height
    return inside and min(part.width, part.height) > 1


def _outline(entry: "Entry", aim: Aim) -> list[Vector]:
    """Ends of lines: around the object that gets the texture, or where the model would stand."""
    if entry.kind == "textures":
        item = bpy.data.objects.get(aim.name)
        corners = [item.matrix_world @ Vector(corner) for corner in item.bound_box] if item else []
    else:
        sides = Vector(entry.extent if len(entry.extent) == 3 else _UNKNOWN)
        corners = [aim.place + Vector(corner) * sides for corner in _CORNERS]
    return [corners[end] for edge in _EDGES for end in edge] if corners else []


def _draw_lines(ends: list[Vector]) -> None:
    import gpu
    from gpu_extras.batch import batch_for_shader

    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    shader.bind()
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    shader.uniform_float("lineWidth", _WIDTH * bpy.context.preferences.system.ui_scale)
    shader.uniform_float("color", _COLOUR)
    batch_for_shader(shader, "LINES", {"pos": ends}).draw(shader)


def register() -> None:
    """Register the operator."""
    bpy.utils.register_class(MCP_BRIDGE_OT_place_asset)


def unregister() -> None:
    """Unregister it. Blender frees one that runs without a call of its `cancel`."""
    _end()
    bpy.utils.unregister_class(MCP_BRIDGE_OT_place_asset)
