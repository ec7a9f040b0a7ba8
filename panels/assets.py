# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel Assets: search a service, see what it has, import it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..operators import state
from ..operators.assets import PREFIX, Options, asset_view, importing
from .text import paragraph
from .view3d import MCP_BRIDGE_PT_server

if TYPE_CHECKING:
    from ..importers.browse import Entry

__all__ = ("register", "unregister")

#: Pixels of a preview at a scale of 1, at least; of the tabs and margins beside them, and of an icon's unit.
_PREVIEW, _BESIDE, _UNIT = 132, 56, 20
#: Kinds that the mouse places.
_PLACED = frozenset({"models", "textures"})
#: What is named as the source, and where its terms are.
_SOURCES = {
    "polyhaven": ("Poly Haven, polyhaven.com", "https://polyhaven.com/license"),
    "sketchfab": ("Sketchfab, sketchfab.com", "https://sketchfab.com/terms"),
    "hyper3d": ("Hyper3D Rodin, hyper3d.ai", "https://hyper3d.ai/legal/terms"),
}


class MCP_BRIDGE_PT_assets(bpy.types.Panel):
    """Assets of Poly Haven, Sketchfab and Hyper3D Rodin."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MCP"
    bl_idname = "MCP_BRIDGE_PT_assets"
    bl_parent_id = MCP_BRIDGE_PT_server.bl_idname
    bl_label = "Assets"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        view, chosen = asset_view.view, Options(context)
        layout.prop(chosen.owner, PREFIX + "service", text="")
        if not bpy.app.online_access:
            _draw_offline(layout.box(), context)
        if chosen.service not in state.view.settings.asset_services:
            paragraph(
                layout.box(), "Not among the Asset Services in the preferences.", context, icon="LOCKED"
            )
        if view.job is not None:
            _draw_job(layout.box(), view.job)
        if view.question is not None:
            _draw_question(layout.box(), view.question, context)
        if view.error:
            paragraph(layout.box(), view.error, context, icon="ERROR")
        if view.done:
            paragraph(layout, view.done, context, icon="CHECKMARK")
        asset_id, name = importing.asset_of(context)
        if asset_id:
            layout.operator_menu_enum(
                "mcp_bridge.switch_resolution", "resolution", text=f"Resolution of {name}", icon="TEXTURE"
            ).asset_id = asset_id
        if chosen.service == "hyper3d":
            _draw_generator(layout, chosen, view.balance)
        else:
            _draw_search(layout, chosen)
            _draw_grid(layout, view, chosen, context)
        row = layout.row()
        source, terms = _SOURCES[chosen.service]
        row.label(text=source, translate=False)
        row.operator("wm.url_open", text="", icon="URL").url = terms
        row.operator("mcp_bridge.copy_credits", text="", icon="COPYDOWN")


def _draw_offline(box: Any, context: bpy.types.Context) -> None:
    paragraph(box, "Blender is not allowed online.", context, icon="INTERNET_OFFLINE")
    if not bpy.app.online_access_override:
        box.prop(context.preferences.system, "use_online_access", text="Allow Online Access")


def _draw_job(box: Any, job: Any) -> None:
    box.label(text=job.title, translate=False)
    row = box.row()
    said = job.message.removeprefix("Downloading: ")
    row.progress(factor=job.progress / (job.total or 100.0), text=said)
    row.operator("mcp_bridge.cancel_asset", text="", icon="X")


def _draw_question(box: Any, question: asset_view.Question, context: bpy.types.Context) -> None:
    paragraph(box, question.text, context, icon="QUESTION")
    row = box.row()
    again = row.operator("mcp_bridge.import_asset", text="Download")
    again.asset_id, again.size_agreed, again.password = question.id, True, question.password
    row.operator("mcp_bridge.cancel_asset", text="Cancel")


def _draw_search(layout: Any, chosen: Any) -> None:
    row = layout.row(align=True)
    row.prop(chosen.owner, PREFIX + "query", text="", icon="VIEWZOOM")
    row.prop(chosen.owner, PREFIX + "shown", expand=True, icon_only=True)
    if chosen.service == "polyhaven":
        everything = chosen.shown == "all"
        if everything:
            layout.row().prop(chosen.owner, PREFIX + "kind", expand=True)
        row = layout.row(align=True)
        if everything:
            row.prop(chosen.owner, PREFIX + "category", text="")
        row.prop(chosen.owner, PREFIX + "resolution", text="")
    else:
        layout.prop(chosen.owner, PREFIX + "size")
    layout.prop(chosen.owner, PREFIX + "mark")


def _draw_generator(layout: Any, chosen: Any, balance: str) -> None:
    layout.prop(chosen.owner, PREFIX + "prompt", text="", icon="TEXT")
    layout.prop(chosen.owner, PREFIX + "size")
    layout.prop(chosen.owner, PREFIX + "mark")
    layout.operator("mcp_bridge.generate_asset", text="Generate…", icon="SHADERFX")
    if balance:
        layout.label(text=balance, icon="FUND", translate=False)


def _draw_grid(layout: Any, view: asset_view.View, chosen: Options, context: bpy.types.Context) -> None:
    if view.searching:
        layout.label(text=view.searching, icon="SORTTIME")
    elif not view.entries and chosen.shown != "all":
        layout.label(text="Nothing yet", icon="INFO")
    elif not view.entries:
        layout.operator("mcp_bridge.search_assets", text="Show Assets", icon="VIEWZOOM")
    columns, size = _fitting(context.region.width / context.preferences.system.ui_scale)
    grid = layout.grid_flow(row_major=True, columns=columns, even_columns=True, even_rows=True, align=True)
    for entry in view.entries:
        _draw_entry(grid.box().column(align=True), entry, view, size)
    if len(view.cursors) > 1 or view.next_cursor:
        row = layout.row()
        back = row.row()
        back.enabled = len(view.cursors) > 1
        back.operator("mcp_bridge.search_assets", text="", icon="TRIA_LEFT").page = "previous"
        row.label(text=f"Page {len(view.cursors)}", translate=False)
        on = row.row()
        on.enabled = bool(view.next_cursor)
        on.operator("mcp_bridge.search_assets", text="", icon="TRIA_RIGHT").page = "next"


def _fitting(width: float) -> tuple[int, float]:
    """How many previews fit beside each other into so many pixels at a scale of 1, and their size in icons."""
    room = max(_PREVIEW, width - _BESIDE)
    columns = max(1, int(room // (_PREVIEW + _UNIT)))
    return columns, max(_PREVIEW, room / columns - _UNIT) / _UNIT


def _draw_entry(column: Any, entry: Entry, view: asset_view.View, size: float) -> None:
    picture = asset_view.icon(entry)
    if picture:
        column.template_icon(icon_value=picture, scale=size)
    else:
        blank = column.column()
        blank.scale_y = size
        blank.label(text="", icon="IMAGE_DATA")
    column.operator("mcp_bridge.import_asset", text=entry.title, translate=False).asset_id = entry.id
    row = column.row(align=True)
    aside = row.row()
    aside.active = False
    aside.label(text=view.sizes.get(entry.id, ""), translate=False)
    if entry.kind in _PLACED:
        row.operator("mcp_bridge.place_asset", text="", icon="RESTRICT_SELECT_OFF").asset_id = entry.id
    star = "SOLO_ON" if entry.id in view.favourites else "SOLO_OFF"
    row.operator("mcp_bridge.favour_asset", text="", icon=star, emboss=False).asset_id = entry.id


def register() -> None:
    """Register the panel."""
    bpy.utils.register_class(MCP_BRIDGE_PT_assets)


def unregister() -> None:
    """Unregister it."""
    bpy.utils.unregister_class(MCP_BRIDGE_PT_assets)
