# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the properties of a data-block as flat, comparable JSON values by readable path.

It reads only what a user can set: no state of the user interface, no computed values, and no single vertices. Lists of
data-blocks become lists of names; an item with a name has its name in the path.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import bpy

__all__ = ("SETTINGS", "Values", "custom_properties", "settings_of", "value_of", "values")

#: Path -> JSON value. For an item with properties of its own, the value is its type.
Values = dict[str, Any]

#: Suffix of an item's path, for the item's values that differ from those of a new item.
SETTINGS = " settings"

#: Types of items whose addition is reported with values, and the types of properties to report.
_TELLING = {
    bpy.types.Modifier: ("INT", "FLOAT", "ENUM", "POINTER"),
    bpy.types.Constraint: ("POINTER",),
    bpy.types.AnimData: ("POINTER",),
}
_WITH_CUSTOM_PROPERTIES = (bpy.types.ID, bpy.types.Bone, bpy.types.PoseBone)
#: Keys that look like custom properties but do not belong to the user.
_NOT_CUSTOM = frozenset(("cycles", "cycles_curves", "_RNA_UI", "mcp_bridge_undo"))
_MOST = 4000
_MOST_SETTINGS = 8
_DEPTH = 7
_MOST_ITEMS = 300
_LONGEST_TEXT = 300
_LONGEST_ARRAY = 64

#: Members that every struct skips: internals, the user interface, and computed values.
_SKIPPED = frozenset(
    """
    rna_type bl_rna original session_uid users use_fake_user use_extra_user tag is_runtime_data
    is_library_indirect is_evaluated is_embedded_data is_missing asset_data override_library library
    library_weak_reference preview id_data id_type name_full bl_system_properties
    tool_settings uv_sculpt animation_visualization cursor display_settings
    select select_set select_control_point select_left_handle select_right_handle select_head select_tail hide_select
    show_expanded show_in_editmode show_on_cage ui_expand_panel is_active active lock is_expanded is_open
    matrix_world matrix_local matrix_basis matrix_parent_inverse matrix_channel matrix dimensions bound_box
    active_index active_material active_material_index active_shape_key active_shape_key_index active_object
    active_clip active_output active_render_index active_color_index active_strip active_nla_strip
    view_center view_layer_update is_group_instance depsgraph objects_evaluated
    execution_time persistent_uid warning_propagation dirty link_limit internal_links parent_zone
    """.split()
)
#: Struct -> members that it skips, or that have their own code.
_SKIPPED_IN: dict[str, frozenset[str]] = {
    "Scene": frozenset(
        "objects keying_sets_all frame_current frame_subframe frame_current_final frame_float "
        "sequence_editor grease_pencil_settings rigidbody_world".split()
    ),
    "ViewLayer": frozenset("objects layer_collection active_layer_collection depsgraph".split()),
    "Collection": frozenset(
        "all_objects children_recursive exporters collection_objects collection_children".split()
    ),
    "Object": frozenset("users_collection children particle_systems pose_library soft_body mode".split()),
    "Mesh": frozenset(
        "vertices edges loops polygons loop_triangles loop_triangle_polygons corner_normals vertex_normals "
        "polygon_normals vertex_colors skin_vertices attributes color_attributes uv_layer_stencil uv_layer_clone "
        "texture_mesh texspace_location texspace_size".split()
    ),
    "Node": frozenset(
        "location location_absolute width width_hidden height color hide parent dimensions".split()
    ),
    "NodeLink": frozenset("from_node to_node from_socket to_socket is_muted is_valid".split()),
    "NodeSocket": frozenset(
        ("node", "enabled", "display_shape", "is_icon_visible", "pin_gizmo", "hide", "show_expanded")
    ),
    "NodeTree": frozenset(("interface", "view_center", "type", "grease_pencil", "default_group_node_width")),
    "AnimData": frozenset(
        "action_slot action_slot_handle last_slot_identifier action_suitable_slots".split()
    ),
    "Camera": frozenset(("angle", "angle_x", "angle_y")),
    "MeshUVLoopLayer": frozenset(
        "data uv vertex_selection edge_selection pin active_render active_clone".split()
    ),
    "ShapeKey": frozenset(("data", "points")),
    "Image": frozenset(("pixels", "render_slots", "packed_files")),
    "Text": frozenset(("lines", "current_line", "select_end_line", "current_character")),
    "Keyframe": frozenset(("co_ui", "interpolation_ui")),
    "FCurve": frozenset(("sampled_points", "color", "color_mode", "group")),
    "Bone": frozenset(("children", "collections")),
    "Action": frozenset(("pose_markers", "frame_range")),
}


def values(item: Any, names: Mapping[int, str] = MappingProxyType({})) -> Values:
    """Return all values that a user can set on a data-block, at most 4,000.

    `names`: session UID -> the name to use for another data-block instead of its own.
    """
    found: Values = {}
    for path, value in _Walk(names).struct(item, "", 0):
        found[path] = value
        if len(found) >= _MOST:
            break
    return found


def value_of(value: Any) -> Any:
    """Return one value as JSON; shorten a long value."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else value[:_LONGEST_TEXT] + "…"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, bpy.types.ID):
        return value.name
    if hasattr(value, "to_dict"):  # a group of custom properties
        return {str(key): value_of(part) for key, part in list(value.to_dict().items())[:_LONGEST_ARRAY]}
    if isinstance(value, dict):
        return {str(key): value_of(part) for key, part in list(value.items())[:_LONGEST_ARRAY]}
    try:
        parts = list(value)
    except TypeError:
        return type(value).__name__
    shown = [value_of(part) for part in parts[:_LONGEST_ARRAY]]
    return shown if len(parts) <= _LONGEST_ARRAY else [*shown, f"… {len(parts)} in all"]


def custom_properties(item: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the custom properties of a data-block or bone, as JSON."""
    if isinstance(item, _WITH_CUSTOM_PROPERTIES):
        custom: Any = item
        for key in custom.keys():  # noqa: SIM118 - it is no mapping
            if key not in item.rna_type.properties and key not in _NOT_CUSTOM:
                yield key, value_of(custom[key])


class _Walk:
    """One walk through the properties of a data-block and of the structs that it owns."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._seen: set[tuple[int, str]] = set()

    def struct(self, item: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
        """Yield the members of a struct with properties. A struct that several paths lead to is read only once."""
        # Not `bl_rna`: for a class that Python has not used before, it belongs to another struct.
        here = (item.as_pointer(), item.rna_type.identifier)
        if here in self._seen or depth > _DEPTH:
            return
        self._seen.add(here)
        skipped = _skipped(item.rna_type)
        for prop in item.rna_type.properties:
            name = prop.identifier
            if name in skipped or name.startswith("bl_") or (prop.is_hidden and prop.type != "COLLECTION"):
                continue
            below = f"{path}.{name}" if path else name
            if prop.type == "COLLECTION":
                yield from self._collection(getattr(item, name), prop, below, depth)
            elif prop.type == "POINTER":
                yield from self._pointer(getattr(item, name), below, depth)
            elif not prop.is_readonly:
                yield below, value_of(getattr(item, name))
        yield from _extra(item, path)
        for key, value in custom_properties(item):
            yield f"{path}[{key!r}]", value

    def _pointer(self, value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
        if value is None:
            yield path, None
        elif isinstance(value, bpy.types.ID) and not value.is_embedded_data:
            yield path, self._name(value)
        else:
            yield from self._owned(value, path, depth)

    def _owned(self, item: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
        """Yield an owned struct: its type, and its members."""
        yield path, _kind(item)
        if isinstance(item, tuple(_TELLING)):
            yield path + SETTINGS, settings_of(item)
        yield from self.struct(item, path, depth + 1)

    def _collection(self, items: Any, prop: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
        if _is_id(prop.fixed_type):
            yield path, [self._name(item) if item else None for item in items]
            return
        keys: set[str] = set()
        for index, item in enumerate(items):
            if index >= _MOST_ITEMS:
                yield f"{path} beyond {_MOST_ITEMS}", f"{len(items)} in all"
                return
            if item is None:
                yield f"{path}[{index}]", None
                continue
            key = _key(item, index)
            if key in keys:
                key = str(index)
            keys.add(key)
            yield from self._owned(item, f"{path}[{key}]", depth)

    def _name(self, item: Any) -> str:
        return self._names.get(item.session_uid) or str(item.name)


def settings_of(item: Any) -> Values:
    """Return the values of an item that differ from those of a new item; they describe an item that was added."""
    found: Values = {}
    reported = next(types for kind, types in _TELLING.items() if isinstance(item, kind))
    skipped = _skipped(item.rna_type) | {"name", "type", "width_pct"}
    for prop in item.rna_type.properties:
        if prop.is_readonly or prop.type not in reported or prop.identifier in skipped:
            continue
        if prop.type == "POINTER":
            default = None
        elif getattr(prop, "is_array", False):
            default = list(prop.default_array)
        else:
            default = prop.default
        shown = value_of(getattr(item, prop.identifier))
        if shown != value_of(default) and len(found) < _MOST_SETTINGS:
            found[prop.identifier] = shown
    return found


def _key(item: Any, index: int) -> str:
    """Return the key of an item in a list; it does not depend on the item's position if possible."""
    if isinstance(item, bpy.types.NodeLink):
        return f"{item.from_node.name}.{item.from_socket.name} → {item.to_node.name}.{item.to_socket.name}"
    if isinstance(item, bpy.types.FCurve):
        return f"{item.data_path}[{item.array_index}]"
    if isinstance(item, bpy.types.Keyframe):
        return f"frame {item.co[0]:g}"
    if isinstance(item, bpy.types.NodeSocket):
        return repr(item.name if item.identifier == item.name else item.identifier)
    if isinstance(item, bpy.types.MaterialSlot):
        return str(index)
    name = getattr(item, "name", None)
    return repr(name) if isinstance(name, str) and name else str(index)


def _kind(item: Any) -> str:
    """Return the type of an item, for "added: …": its class's name, or its `type` if one class has several."""
    variety = getattr(item, "type", None)
    for base, word in ((bpy.types.Modifier, "modifier"), (bpy.types.Constraint, "constraint")):
        if isinstance(item, base) and isinstance(variety, str):
            return f"{variety.title().replace('_', ' ')} {word}"
    return str(getattr(item, "bl_label", None) or item.rna_type.name)


def _extra(item: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield values that summarize contents that are not read one by one."""
    if isinstance(item, bpy.types.Mesh):
        yield "vertices", len(item.vertices)
        yield "edges", len(item.edges)
        yield "faces", len(item.polygons)
        coordinates = array("f", bytes(12 * len(item.vertices)))
        item.vertices.foreach_get("co", coordinates)
        if coordinates:
            yield (
                "extent",
                [round(max(coordinates[axis::3]) - min(coordinates[axis::3]), 5) for axis in range(3)],
            )
            yield "positions", _digest(coordinates)
        indices = array("i", bytes(4 * len(item.polygons)))
        item.polygons.foreach_get("material_index", indices)
        yield "material assignment", _digest(indices)
        smooth = array("b", bytes(len(item.polygons)))
        item.polygons.foreach_get("use_smooth", smooth)
        if smooth:
            yield "smooth faces", sum(smooth)
        for layer in item.uv_layers:
            uvs = array("f", bytes(8 * len(layer.data)))
            layer.data.foreach_get("uv", uvs)
            yield f"uv_layers[{layer.name!r}] coordinates", _digest(uvs)
        yield "attributes", sorted(a.name for a in item.attributes if not a.is_internal)
    elif isinstance(item, bpy.types.ShapeKey):
        coordinates = array("f", bytes(12 * len(item.data)))
        item.data.foreach_get("co", coordinates)
        yield f"{path}.positions", _digest(coordinates)
    elif isinstance(item, bpy.types.Text):
        yield "text", value_of(item.as_string())


def _digest(numbers: array[Any]) -> str:
    """Return a digest of many numbers, which shows only whether they differ."""
    return "#" + hashlib.blake2b(numbers.tobytes(), digest_size=8).hexdigest()


_skips: dict[str, frozenset[str]] = {}


def _skipped(rna: Any) -> frozenset[str]:
    """Return the names that a struct and its base structs skip."""
    found = _skips.get(rna.identifier)
    if found is None:
        found = _SKIPPED | _SKIPPED_IN.get(rna.identifier, frozenset())
        if rna.base is not None:
            found |= _skipped(rna.base)
        _skips[rna.identifier] = found
    return found


def _is_id(struct: Any) -> bool:
    while struct is not None:
        if struct.identifier == "ID":
            return True
        struct = struct.base
    return False
