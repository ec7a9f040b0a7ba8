# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes properties of modifiers, constraints and the like. Main thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import bpy

__all__ = ("plain", "properties_of", "short")


def short(number: float) -> float:
    """Return the number rounded to seven digits, the precision of Blender's floats."""
    return round(number, 5)


def properties_of(item: Any) -> dict[str, Any]:
    """Describe a modifier or constraint: its name, its type, and the properties that differ from the defaults."""
    changed: dict[str, Any] = {}
    for prop in item.bl_rna.properties:
        key = prop.identifier
        if key in _PLUMBING or prop.is_hidden or prop.type == "COLLECTION":
            continue
        value = getattr(item, key)
        if prop.type == "POINTER" and value is not None and not isinstance(value, bpy.types.ID):
            continue
        value = plain(value)
        if value != _USUAL.get(key, _default(prop)):
            changed[key] = value
    return {"name": item.name, "type": item.type, "properties": changed}


_PLUMBING = frozenset(
    {"rna_type", "name", "type", "is_active", "show_expanded", "show_in_editmode", "show_on_cage"}
)
_PLUMBING |= {"show_render", "is_override_data", "execution_time", "persistent_uid", "active", "is_valid"}
#: Values of a new modifier or constraint where the default in RNA is a different one.
_USUAL = {"show_viewport": True, "enabled": True, "influence": 1.0, "use_limit_surface": True}


def _default(prop: Any) -> Any:
    if prop.type == "POINTER":
        return None
    if getattr(prop, "is_array", False):
        return [plain(value) for value in prop.default_array]
    if prop.type == "ENUM" and prop.is_enum_flag:
        return sorted(prop.default_flag)
    return plain(prop.default)


def plain(value: Any) -> Any:
    """Return a property's value as JSON; a data-block as its name."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return short(value)
    if isinstance(value, bpy.types.ID):
        return value.name
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "to_dict"):
        return {key: plain(item) for key, item in value.to_dict().items()}
    if hasattr(value, "to_list"):
        return [plain(item) for item in value.to_list()]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, bpy.types.bpy_struct):
        return getattr(value, "name", None) or type(value).__name__
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return str(value)
