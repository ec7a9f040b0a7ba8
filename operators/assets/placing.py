# SPDX-License-Identifier: GPL-3.0-or-later
"""Place an asset with the mouse: the 3D view shows where a model would stand, or which object takes a texture."""

# No `from __future__ import annotations` here: Blender reads the properties from the annotations.

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import StringProperty
from bpy_extras import view3d_utils
from mathutils import Vector, geometry

from . import asset_view
from .importing import takes_a_texture

if TYPE_CHECKING:
    from ...importers.browse import Entry

__all__ = ("Aim", "aim_at", "register", "unregister")

#: Regions of a 3D view that may lie over the scene.
_OVER_IT = frozenset({"UI", "HEADER", "TOOL_HEADER", "TOOLS", "ASSET_SHELF"})
#: Metres of the sides of a model that tells none.
_UNKNOWN = (1.0, 1.0, 1.0)
_COLOUR, _WIDTH = (0.2, 0.7, 1.0, 1.0), 2.0
#: The corners of a box as Blender gives them (`Object.bound_box`), and its edges.
_CORNERS = tuple((x, y, z) for x in (-0.5, 0.5) for y, z in ((-0.5, 0), (-0.5, 1), (0.5, 1), (0.5, 0)))
_EDGES = tuple(edge for k in range(4) for edge in ((k, (k + 1) % 4), (4 + k, 4 + (k + 1) % 4), (k, 4 + k)))


@dataclass(frozen=True, slots=True)
class Aim:
    """What the mouse points at: a place, and the name of the object there, if there is one that takes a texture."""

    place: Vector
    name: str = ""


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
    if ground is None or (ground - origin).dot(direction) <= 0:
        cursor = context.scene.cursor.location
        ground = view3d_utils.region_2d_to_location_3d(region, view, pixel, cursor)
    return Aim(ground)


class MCP_BRIDGE_OT_place_asset(bpy.types.Operator):
    """Import it where you click in the 3D view: a model stands there, a texture goes onto the object there"""

    bl_idname = "mcp_bridge.place_asset"
    bl_label = "Place Asset"
    bl_options = {"INTERNAL"}

    asset_id: StringProperty(options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if asset_view.view.job is not None:
            cls.poll_message_set("Another import is at work")
            return False
        return True

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        entry = asset_view.entry(self.asset_id)
        if entry is None:
            self.report({"WARNING"}, "This asset is no longer shown")
            return {"CANCELLED"}
        self._entry = entry
        self._aim: Aim | None = None
        self._area: Any = context.area
        self._pressed = False
        views: Any = bpy.types.SpaceView3D
        self._drawing = views.draw_handler_add(self._draw, (), "WINDOW", "POST_VIEW")
        context.window.cursor_modal_set("CROSSHAIR")
        context.window_manager.modal_handler_add(self)
        self._say()
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        area, region = _under(context, event.mouse_x, event.mouse_y)
        if event.type == "MOUSEMOVE":
            self._look(context, area, region, event)
        elif event.type in {"ESC", "RIGHTMOUSE"}:
            self.cancel(context)
            return {"CANCELLED"}
        elif event.type == "LEFTMOUSE" and event.value == "PRESS":
            self._pressed = True
        elif (
            event.type == "LEFTMOUSE" and self._pressed
        ):  # with the press alone, Blender would select on the release
            self._pressed = False
            self._look(context, area, region, event)
            if region is None:
                self.cancel(context)
                return {"CANCELLED"}
            if self._aim is not None and (self._aim.name or self._entry.kind != "textures"):
                self.cancel(context)
                self._import(self._aim)
                return {"FINISHED"}
        elif region is not None:
            return {"PASS_THROUGH"}  # the view can be turned meanwhile
        return {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Show what was shown before."""
        views: Any = bpy.types.SpaceView3D
        views.draw_handler_remove(self._drawing, "WINDOW")
        context.window.cursor_modal_restore()
        self._area.header_text_set(None)
        self._area.tag_redraw()

    def _import(self, aim: Aim) -> None:
        onto = aim.name if self._entry.kind == "textures" else ""
        ops: Any = bpy.ops.mcp_bridge  # type: ignore[attr-defined]
        ops.import_asset(
            "INVOKE_DEFAULT", asset_id=self._entry.id, placed=True, location=aim.place, onto=onto
        )

    def _look(self, context: bpy.types.Context, area: Any, region: Any, event: bpy.types.Event) -> None:
        self._aim = None if region is None else aim_at(context, region, event.mouse_x, event.mouse_y)
        if area is not None and area != self._area:
            self._area.header_text_set(None)
            self._area.tag_redraw()
            self._area = area
        self._say()
        self._area.tag_redraw()

    def _say(self) -> None:
        """Tell in the header of the 3D view what a click does now."""
        if self._entry.kind != "textures":
            said = f"Click: Place {self._entry.title} Here"
        elif self._aim is not None and self._aim.name:
            said = f"Click: Put {self._entry.title} onto {self._aim.name}"
        else:
            said = f"Point at the Object That Gets {self._entry.title}"
        self._area.header_text_set(f"{said}   Esc: Cancel")

    def _draw(self) -> None:
        if self._aim is not None and bpy.context.area == self._area:
            _draw_lines(_outline(self._entry, self._aim))


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
    """Unregister it."""
    bpy.utils.unregister_class(MCP_BRIDGE_OT_place_asset)
