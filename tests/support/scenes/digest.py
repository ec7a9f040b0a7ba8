# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes a scene as comparable texts: a hash for each property group of each data-block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import bpy
import numpy as np

__all__ = ("scene",)

_ROOTS: Final = """actions armatures cameras collections curves grease_pencils grease_pencils_v3 hair_curves images
    lattices lights linestyles materials meshes metaballs node_groups objects particles pointclouds scenes shape_keys
    speakers texts textures volumes worlds""".split()
_LEFT_OUT: Final = frozenset(
    """rna_type session_uid users tag is_updated is_updated_data is_updated_geometry is_updated_transform
    is_updated_shading original is_evaluated is_dirty is_modified bl_rna id_data preview asset_data
    library_weak_reference override_library name_full execution_time view_layers_update tool_settings
    cursor stats depsgraph lines current_line select_end_line current_character select_end_character
    as_pointer users_collection users_scene runtime_data elapsed_time storage_type view_center
    is_icon_visible show_expanded is_runtime_data""".split()
)
"""Properties about time, origin, memory or what an editor shows, and those that repeat another data-block."""
_ONLY: Final = {
    "Scene": frozenset(
        """name camera world collection frame_start frame_end frame_current frame_step use_nodes node_tree gravity
        compositing_node_group render cycles eevee view_settings timeline_markers unit_settings
        rigidbody_world""".split()
    ),
    "RenderSettings": frozenset(
        """engine resolution_x resolution_y resolution_percentage fps fps_base film_transparent use_motion_blur
        use_freestyle use_border pixel_aspect_x pixel_aspect_y""".split()
    ),
    "MeshUVLoopLayer": frozenset({"name", "active", "active_render", "active_clone", "uv"}),
}
"""Structs of which only a part is compared: the rest belongs to editors and their tools, or nobody can set it.

Of a UV layer `data` repeats `uv`, and Blender makes the layers of its selection and pins when they are looked at:
those that are there stand in the mesh's attributes."""
_BY_THE_CLOCK: Final = frozenset({("FieldSettings", "seed")})
"""Properties that Blender sets to the clock's second when it makes the struct."""
_OF_SOCKETS: Final = frozenset({"enabled", "is_unavailable", "is_inactive"})
"""Properties of sockets that follow from their node, once Blender has updated it."""
_ARRAYS: Final = {
    ("Mesh", "vertices"): ("co", 3),
    ("Mesh", "edges"): ("vertices", 2),
    ("Mesh", "loops"): ("vertex_index", 1),
    ("Mesh", "polygons"): ("loop_start", 1),
    ("ShapeKey", "data"): ("co", 3),
}
"""Long collections, and the property of their items that says enough."""
_REPEATED: Final = frozenset(
    """loop_triangles loop_triangle_polygons corner_normals vertex_normals polygon_normals edge_keys
    vertex_colors sculpt_vertex_colors uv_layer_stencil uv_layer_clone vertex_paint_masks skin_vertices
    texspace_location texspace_size pixels points_normal interface_items""".split()
)
"""Properties that Blender computes from others, or shows under an older name."""
_MEMBERS: Final = (bpy.types.Node, bpy.types.NodeSocket, bpy.types.NodeTreeInterfaceItem)
"""Types whose references are also in the node tree's own list: a name is enough for them."""
_DEPTH: Final = 8


def scene() -> dict[str, str]:
    """Return hashes of all data-blocks, by "collection/name/property"; write the edits of modes back first."""
    for window_scene in bpy.data.scenes:
        for layer in window_scene.view_layers:
            layer.update()
    for found in bpy.data.objects:
        if found.mode == "EDIT":
            found.update_from_editmode()
    digests: dict[str, str] = {}
    for root in _ROOTS:
        for block in getattr(bpy.data, root, ()):
            for name, value in _properties(block, _DEPTH):
                digests[f"{root}/{block.name}/{name}"] = _hash(value)
            digests[f"{root}/{block.name}/[]"] = _hash(_custom(block))
    return digests


def _properties(struct: Any, depth: int) -> Iterator[tuple[str, Any]]:
    kind = struct.rna_type.identifier
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if name in _LEFT_OUT or name in _REPEATED or name not in _ONLY.get(kind, (name,)):
            continue
        if (kind, name) in _BY_THE_CLOCK or (kind.startswith("NodeSocket") and name in _OF_SOCKETS):
            continue
        try:
            value = _array(struct, name, *_ARRAYS[kind, name]) if (kind, name) in _ARRAYS else None
            yield name, value if value is not None else _value(getattr(struct, name), prop, depth)
        except (AttributeError, RuntimeError, TypeError, ValueError, SystemError) as error:
            yield name, type(error).__name__


def _array(struct: Any, name: str, member: str, width: int) -> str:
    items = getattr(struct, name)
    values = np.empty(len(items) * width, np.float32 if member == "co" else np.int32)
    items.foreach_get(member, values)
    return f"{len(items)} {_bytes(values)}"


def _value(value: Any, prop: Any, depth: int) -> Any:
    if prop.type == "FLOAT":
        if prop.is_array:
            return [_float(part) for row in value for part in (row if hasattr(row, "__len__") else (row,))]
        return _float(value)
    if prop.type in ("INT", "BOOLEAN", "STRING", "ENUM"):
        if prop.type == "ENUM" and prop.is_enum_flag:
            return sorted(value)
        return list(value) if getattr(prop, "is_array", False) else value
    if prop.type == "POINTER":
        return value.name if isinstance(value, _MEMBERS) else _pointer(value, depth)
    if kind := _attribute(value):
        return kind
    if prop.identifier == "attributes":  # in the order in which they were made
        value = sorted(value, key=lambda attribute: attribute.name)
    return [_pointer(item, depth) for item in value]


def _attribute(items: Any) -> str:
    """Return one hash of all values of a geometry's attribute."""
    if not len(items):
        return "none"
    first = items[0]
    for member in ("vector", "value", "color"):
        if type(first).__name__.endswith("AttributeValue") and member in first.bl_rna.properties:
            prop = first.bl_rna.properties[member]
            width = max(getattr(prop, "array_length", 0), 1)
            if prop.type == "STRING":
                break
            values = np.empty(len(items) * width, np.float32 if prop.type == "FLOAT" else np.int32)
            items.foreach_get(member, values)
            return f"{len(items)} {_bytes(values)}"
    return ""


def _pointer(value: Any, depth: int) -> Any:
    if value is None:
        return None
    if isinstance(value, bpy.types.ID) and not (
        isinstance(value, bpy.types.NodeTree) and value.is_embedded_data
    ):
        return f"{type(value).__name__} {value.name}"
    if depth == 0:
        return type(value).__name__
    # nobody can set the name of an embedded node tree
    unset = "name" if isinstance(value, bpy.types.ID) else ""
    found = [(name, inner) for name, inner in _properties(value, depth - 1) if name != unset]
    return [type(value).__name__, found, _custom(value)]


def _custom(struct: Any) -> Any:
    try:
        return sorted((name, _plain(value)) for name, value in struct.items())
    except (TypeError, AttributeError):
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _float(value)
    if hasattr(value, "to_dict"):
        return repr(value.to_dict())
    if hasattr(value, "to_list"):
        return repr(value.to_list())
    return getattr(value, "name", None) or repr(value)


def _float(value: float) -> float:
    return round(float(f"{value:.5g}"), 5) + 0.0


def _bytes(values: Any) -> str:
    if values.dtype == np.float32:
        values = np.round(np.nan_to_num(values), 4) + 0.0
    return hashlib.sha1(np.ascontiguousarray(values).tobytes(), usedforsecurity=False).hexdigest()


def _hash(value: Any) -> str:
    return hashlib.sha1(repr(value).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:12]
