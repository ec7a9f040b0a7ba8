# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that crash Blender in a state that can be checked beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import bpy

__all__ = ("CRASHING", "why_crashing")


def _colours_by_corner() -> str:
    edited = getattr(bpy.context, "objects_in_mode_unique_data", None) or []
    if bpy.app.version >= (5, 0) or not any(
        layer.domain == "CORNER" for o in edited if o.type == "MESH" for layer in o.data.color_attributes
    ):
        return ""
    return "this Blender crashes where colours are stored by corner: leave edit mode and set color_attributes[…].data"


def _others_without_modifiers() -> str:
    others = [] if bpy.app.version >= (4, 3) else bpy.context.selected_objects
    names = [o.name for o in others if o.type not in _MODIFIED]
    if not names:
        return ""
    return f"this Blender crashes where an object that takes no modifiers is selected: deselect {', '.join(names[:5])}"


#: Types of objects that accept modifiers of meshes.
_MODIFIED: Final = frozenset("MESH CURVE SURFACE FONT LATTICE CURVES POINTCLOUD VOLUME".split())


def _drawing_moved() -> str:
    if bpy.app.version >= (4, 5) or bpy.context.mode != "EDIT_GREASE_PENCIL":
        return ""
    return "this Blender crashes where a grease pencil is edited: leave edit mode and move the object"


def _drawing_without_view(since: tuple[int, int] = (5, 0)) -> str:
    if not since <= bpy.app.version < (5, 2) or bpy.context.region_data is not None:
        return ""
    return f"this Blender crashes where there is no 3D view: {_WITHIN_VIEW}"


_WITHIN_VIEW: Final = (
    "call it within bpy.context.temp_override(window=…, area=…, region=…), of an area 'VIEW_3D' and its region "
    "'WINDOW'"
)


def _loop_cut_unseen() -> str:
    if bpy.app.version < (5, 0) and bpy.app.background:
        return "this Blender crashes without a window: use bmesh.ops.subdivide_edgering(bm, edges=…, cuts=1)"
    if bpy.context.region_data is None:
        return f"Blender crashes where there is no 3D view: {_WITHIN_VIEW}"
    return ""


def _converted_in_mode() -> str:
    others = [f"{o.name} is in {o.mode}" for o in bpy.context.selected_objects if o.mode != "OBJECT"]
    if not others:
        return ""
    return (
        "Blender converts objects only in object mode, and may crash in another one: first call "
        f"bpy.ops.object.mode_set(mode='OBJECT') ({', '.join(others[:5])})"
    )


def _paths_of_sculpted() -> str:
    if bpy.app.version < (5, 0) or bpy.context.mode != "SCULPT":
        return ""
    return (
        "this Blender crashes at the next undo step in sculpt mode: first call "
        "bpy.ops.object.mode_set(mode='OBJECT')"
    )


def _along_normals_of_curve(arguments: Mapping[str, object]) -> str:
    if bpy.app.version >= (4, 5) or bpy.context.mode not in ("EDIT_CURVE", "EDIT_SURFACE"):
        return ""
    given = [arguments.get(name) for name in _ORIENTATIONS]
    if not any(isinstance(each, str) and each == "NORMAL" for each in given):
        return ""
    return "this Blender crashes where the orientation is 'NORMAL' while a curve is edited: use orient_type='LOCAL'"


_ORIENTATIONS: Final = ("orient_type", "orient_matrix_type")

#: Functions that say why an operator would crash now and what to do, or "".
CRASHING: Final[Mapping[str, Callable[[], str]]] = {
    "gpencil.reproject": lambda: "this Blender crashes: set the positions of the points, stroke.points[…].co",
    "mesh.colors_reverse": _colours_by_corner,
    "mesh.colors_rotate": _colours_by_corner,
    "mesh.loopcut": _loop_cut_unseen,
    "object.convert": _converted_in_mode,
    "object.modifier_copy_to_selected": _others_without_modifiers,
    **dict.fromkeys(
        ("object.paths_calculate", "object.paths_update", "object.paths_update_visible"), _paths_of_sculpted
    ),
    **dict.fromkeys(
        """
        transform.bbone_resize transform.mirror transform.push_pull transform.resize transform.rotate transform.shear
        transform.tilt transform.tosphere transform.transform transform.translate
        """.split(),
        _drawing_moved,
    ),
    **dict.fromkeys(
        """
        grease_pencil.delete grease_pencil.dissolve grease_pencil.duplicate grease_pencil.extrude
        grease_pencil.select_similar grease_pencil.set_corner_type
        """.split(),
        _drawing_without_view,
    ),
    **dict.fromkeys(
        ("grease_pencil.duplicate_move", "grease_pencil.extrude_move"),
        lambda: _drawing_moved() or _drawing_without_view(),
    ),
    "grease_pencil.outline": partial(_drawing_without_view, (4, 5)),
}
#: Operators of `CRASHING` that do nothing without this argument, so that they do not crash either.
_NEEDED: Final = {"mesh.loopcut": "edge_index"}


def why_crashing(idname: str, arguments: Mapping[str, object]) -> str:
    """Return why an operator would crash with these arguments now and what to do, or ""."""
    if reason := _along_normals_of_curve(arguments):
        return reason
    if idname not in CRASHING or (idname in _NEEDED and _NEEDED[idname] not in arguments):
        return ""
    return CRASHING[idname]()
