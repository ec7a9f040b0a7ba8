# SPDX-License-Identifier: GPL-3.0-or-later
"""What `import bpy`, `import bmesh` and `from bpy_extras import …` give a script: listed names, never a module."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import bpy

from ..builtins import stand_in
from ..modules import View
from . import bmesh_removals, bmesh_sizes
from .operators import Operators

if TYPE_CHECKING:
    from . import BlenderHost

__all__ = ("views",)

#: Names that plain modules share with scripts: functions and classes that compute or work on what they are given.
_PLAIN: Mapping[str, str] = {
    "bmesh": "update_edit_mesh",
    "bmesh.types": "BMesh BMVert BMEdge BMFace BMLoop BMVertSeq BMEdgeSeq BMFaceSeq BMLayerItem",
    "bmesh.utils": "edge_rotate edge_split face_flip face_join face_split face_split_edgenet face_vert_separate "
    "loop_separate vert_collapse_edge vert_collapse_faces vert_dissolve vert_separate vert_splice",
    "bmesh.geometry": "intersect_face_point",
    "bpy_extras.object_utils": "object_data_add world_to_camera_view add_object_align_init",
    "bpy_extras.mesh_utils": "edge_face_count edge_face_count_dict edge_loops_from_edges mesh_linked_triangles "
    "mesh_linked_uv_islands ngon_tessellate triangle_random_points",
    "bpy_extras.view3d_utils": "location_3d_to_region_2d region_2d_to_location_3d region_2d_to_origin_3d "
    "region_2d_to_vector_3d",
    "bpy_extras.node_utils": "find_node_input",
    "bpy.utils.units": "categories systems to_string to_value",
    "bpy.path": "basename clean_name display_name display_name_from_filepath ensure_ext",
}
#: The same of modules that have other members besides.
_LISTED: Mapping[str, str] = {
    "bpy.utils": "escape_identifier unescape_identifier smpte_from_frame smpte_from_seconds time_from_frame "
    "time_to_frame",
    "bpy.app": "version version_string version_file version_cycle build_branch build_commit_date "
    "build_commit_time build_date build_hash build_platform build_time build_type factory_startup",
}

_LATER = "code that Blender calls later would run outside the request, unseen"
_REFUSED: Mapping[str, str] = {
    "bpy.app.handlers": f"{_LATER}: animate with keyframes or drivers instead",
    "bpy.app.timers": f"{_LATER}: do the work now, or animate with keyframes",
    "bpy.app.driver_namespace": f"{_LATER}: write the driver's expression with numbers and variables",
    "bpy.app.translations": _LATER,
    "bpy.msgbus": f"{_LATER}: set the values now, or link them with a driver",
    "bpy.props": "a script may not register properties: use custom properties, obj['name'] = value",
    "bpy.utils.register_class": f"{_LATER}: a script may not register operators, panels or properties",
    "bpy.utils.unregister_class": "a script may not change what add-ons registered",
    "bpy.utils.previews": "previews are read from files",
    "bpy.app.binary_path": "a script may not start or change programs",
    "bpy.app.tempdir": "a script may not work on files",
    "bpy.path.abspath": "a script may not work on files",
    "bpy.utils": "it works on files, add-ons or the session",
    "bpy.app": "it belongs to the session, not to the scene",
}


def views(host: BlenderHost, wanted: Collection[str]) -> dict[str, object]:
    """The views by dotted name, for one run: those under the roots that are `wanted`."""
    made: dict[str, object] = {
        name: View(name, _listed(name), _missing(host, name))
        for name in _PLAIN
        if name.partition(".")[0] in wanted
    }
    if "bmesh" in wanted:
        utils = {m: bmesh_removals.removing(host, each) for m, each in _listed("bmesh.utils").items()}
        made["bmesh.utils"] = View("bmesh.utils", utils, _missing(host, "bmesh.utils"))
        made["bmesh.ops"] = View("bmesh.ops", {}, host.bmesh_operator)
        parts: dict[str, Any] = {m: made[f"bmesh.{m}"] for m in ("types", "utils", "geometry", "ops")}
        parts |= {"new": bmesh_sizes.made(host), "from_edit_mesh": bmesh_sizes.edited(host)}
        made["bmesh"] = View("bmesh", _listed("bmesh") | parts, _missing(host, "bmesh"))
    if "bpy_extras" in wanted:
        extras = {
            name.partition(".")[2]: view for name, view in made.items() if name.startswith("bpy_extras.")
        }
        made["bpy_extras"] = View("bpy_extras", extras, _missing(host, "bpy_extras"))
    if "bpy" in wanted:
        made["bpy.types"] = View("bpy.types", {}, _types(host))
        # The same in a rehearsal and with a window: a script that could tell would behave in one and not in the other.
        made["bpy.app"] = View(
            "bpy.app", _listed("bpy.app") | {"background": False}, _missing(host, "bpy.app")
        )
        units = {"units": made["bpy.utils.units"]}
        made["bpy.utils"] = View("bpy.utils", _listed("bpy.utils") | units, _missing(host, "bpy.utils"))
        parts = {m: made[f"bpy.{m}"] for m in ("types", "app", "utils", "path")}
        parts |= {"context": bpy.context, "data": bpy.data, "ops": Operators(host)}
        made["bpy"] = View("bpy", parts, _missing(host, "bpy"))
        for name in ("context", "data", "ops"):
            made[f"bpy.{name}"] = parts[name]
    return made


@functools.cache
def _listed(module: str) -> dict[str, Any]:
    """The members of a module that are given out as they are."""
    source = import_module(module)
    names = (_PLAIN.get(module) or _LISTED[module]).split()
    found = {name: getattr(source, name) for name in names if hasattr(source, name)}
    return {name: _of_texts(each) for name, each in found.items()} if module == "bpy.path" else found


def _of_texts(function: Callable[..., str]) -> Callable[..., str]:
    """A function of Blender's own Python, which looks the first of its arguments up: what that unfolds to is hashed."""

    @functools.wraps(function)
    def call(*texts: Any, **named: Any) -> str:
        for text in (*texts, *named.values()):
            if not isinstance(text, (str, bytes, bool)):
                raise TypeError(f"bpy.path.{function.__name__}() takes texts, not {type(text).__name__}")
        return function(*texts, **named)

    return call


def _missing(host: BlenderHost, module: str) -> Callable[[str], NoReturn]:
    def missing(name: str) -> NoReturn:
        path = f"{module}.{name}"
        if path in _REFUSED:
            host.refuse(f"{path} may not be used: {_REFUSED[path]}", code="module")
        if hasattr(import_module(module), name):
            reason = _REFUSED.get(module, "it is not on the list of reviewed names")
            host.refuse(f"{path} may not be used: {reason}", code="module")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return missing


def _types(host: BlenderHost) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        found = getattr(bpy.types, name)
        if not isinstance(found, type):
            host.refuse(f"bpy.types.{name} may not be used: it is no type")
        return stand_in(found)

    return find
