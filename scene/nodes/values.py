# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the values of nodes, sockets and trees as JSON, without loss. Main thread."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from functools import cache
from typing import Any

import bpy

__all__ = (
    "NOT_OF_NODE",
    "PATHS",
    "class_of",
    "different",
    "interface_values",
    "is_id",
    "is_number",
    "node_values",
    "plain",
    "properties",
    "short",
    "tree_properties",
    "value_of",
)

Json = dict[str, Any]
#: Read-only properties of a node whose contents are values of the node.
_PARTS = frozenset(
    "ColorRamp CurveMapping ImageUser TexMapping ColorMapping ColorManagedDisplaySettings "
    "ColorManagedViewSettings".split()
)
#: Properties to skip: read by other code, part of the view only, or a button (a Cryptomatte's `add`).
NOT_OF_NODE = frozenset(
    "rna_type name type location location_absolute dimensions inputs outputs internal_links parent select "
    "show_texture add remove".split()
)
_NOT_OF_INTERFACE = frozenset(
    "rna_type item_type parent position index identifier in_out bl_socket_idname socket_type select interface_items "
    "name persistent_uid".split()
)
_TREE_PROPERTIES = frozenset(
    "color_tag description default_group_node_width is_modifier is_tool is_mode_edit is_mode_object is_mode_paint "
    "is_mode_sculpt is_type_curve is_type_grease_pencil is_type_mesh is_type_point_cloud is_type_pointcloud "
    "use_wait_for_click".split()
)
PATHS = frozenset(("FILE_PATH", "DIR_PATH"))


@cache
def properties(kind: Any, skipped: frozenset[str]) -> tuple[tuple[str, str, str, Any], ...]:
    """Return name, type and subtype of the properties to read, and the type that a pointer refers to."""
    told = []
    for prop in kind.bl_rna.properties:
        name = prop.identifier
        if name in skipped or name == "rna_type" or name.startswith(("bl_", "active_")):
            continue
        held = getattr(prop, "fixed_type", None)
        if prop.type == "COLLECTION":
            functions = prop.srna.functions.keys() if prop.srna else ()
            if "new" not in functions and kind.__name__ not in _PARTS:
                continue
        elif prop.type == "POINTER":
            if prop.is_readonly and held.identifier not in _PARTS:
                continue
            if not prop.is_readonly and not is_id(held) and held.identifier != "ParticleSystem":
                continue
        elif prop.is_readonly:
            continue
        subtype = prop.subtype if prop.type == "STRING" else ""
        told.append((name, prop.type, subtype, held))
    return tuple(told)


def class_of(item: Any) -> Any:
    """Return the class of a node, socket or item, hashable."""
    return type(item)  # as Any: mypy does not accept a class as hashable


def is_id(rna: Any) -> bool:
    """Return whether an RNA type is a type of data-block."""
    while rna is not None and rna.identifier != "ID":
        rna = rna.base
    return rna is not None


def _values(item: Any, skipped: frozenset[str] = frozenset()) -> Json:
    """Return the values of a struct by property, without paths and without properties that have no value now."""
    found: Json = {}
    for name, kind, subtype, held in properties(class_of(item), skipped):
        if subtype in PATHS:
            continue
        value = getattr(item, name)
        if kind == "COLLECTION":
            found[name] = [_part(each) for each in value]
        elif kind == "POINTER" and held.identifier in _PARTS:
            found[name] = _part(value) if value is not None else None
        elif kind != "ENUM" or value != "":
            found[name] = plain(value)
    return found


def _part(value: Any) -> Any:
    """Return a value with parts. Colour ramps and curves become lists of numbers."""
    kind = value.bl_rna.identifier
    if kind == "ColorRampElement":
        return [short(value.position), *map(short, value.color)]
    if kind == "CurveMap":
        return [[*map(short, point.location), point.handle_type] for point in value.points]
    return _values(value)


def node_values(node: Any) -> Json:
    """Return the values of a node by property, without its name, location, sockets and links."""
    return _values(node, NOT_OF_NODE)


def interface_values(item: Any) -> Json:
    """Return the values of a socket or panel of a group, by property."""
    return _values(item, _NOT_OF_INTERFACE)


def tree_properties(tree: Any) -> Json:
    """Return the settings of a tree itself, if it has any."""
    names = (p.identifier for p in tree.bl_rna.properties if p.identifier in _TREE_PROPERTIES)
    return {name: plain(getattr(tree, name)) for name in names}


def plain(value: Any) -> Any:
    """Return a Blender value as JSON, without loss."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return short(value)
    if isinstance(value, bpy.types.ID):
        return [value.name, value.library.filepath] if value.library else value.name
    if isinstance(value, bpy.types.ParticleSystem):
        return value.name
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return [plain(each) for each in value]


def short(number: float) -> Any:
    """Return the shortest number that is equal as a 32-bit float; infinity and NaN as a text, since JSON has none."""
    if number.is_integer() and -1e6 < number < 1e6:
        return number
    if not math.isfinite(number):
        return str(number)
    for digits in range(6, 10):
        near = float(f"{number:.{digits}g}")
        try:
            if struct.pack("f", near) == struct.pack("f", number):
                return near
        except OverflowError:
            continue
    return number


def value_of(socket: Any) -> Any:
    """Return the value that a socket has without a link; None if it has no value."""
    return plain(socket.default_value) if hasattr(socket, "default_value") else None


def different(now: Json, standard: Mapping[str, Any]) -> Json:
    """Return the values that differ from the standard; for a value with parts, only the parts that differ."""
    found: Json = {}
    for name, value in now.items():
        usual = standard.get(name)
        if name not in standard or value != usual or type(value) is not type(usual):
            if isinstance(value, dict) and isinstance(usual, dict):
                value = different(value, usual)
            found[name] = value
    return found


def is_number(value: Any) -> bool:
    """Return whether a value is a JSON number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
