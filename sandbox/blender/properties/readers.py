# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of properties that need a check, or that scripts get in another form than Blender's own."""

from __future__ import annotations

import math
from typing import Any

import bpy

from ...facts.members import names
from ...guard.seam import BlenderHost, Reader
from .. import depsgraph, vertex_groups, windows
from ..layers.names import check_values

__all__ = ("READERS", "copied", "fragile_read", "read_layer_data")

_MAX_PIXEL_FLOATS = 20_000_000


def copied(_host: BlenderHost, value: Any, name: str) -> Any:
    """Return a copy of a read-only array, so that writing its items reaches nothing."""
    array = getattr(value, name)
    return array.copy() if hasattr(array, "copy") else tuple(array)


def fragile_read(host: BlenderHost, value: Any, name: str) -> Any:
    """Read a property of an element whose array may have moved."""
    host.stale.read_fragile(aliases=False)
    found = getattr(value, name)
    if not isinstance(found, (bool, int, float, str)):
        host.stale.read_fragile(aliases=True)
    return found


def _read_pixels(host: BlenderHost, value: Any, name: str) -> Any:
    """Read `pixels` after a check of the image's size: Python would make a number of each float."""
    floats = math.prod(value.size) * max(value.channels, 1)
    if floats > _MAX_PIXEL_FLOATS:
        host.exceed(
            f"an image of {value.size[0]} x {value.size[1]} pixels is too large for a script",
            limit="memory",
        )
    host.keep_pixels(value)  # a script can write item by item what it has read
    return getattr(value, name)


def read_layer_data(host: BlenderHost, value: Any, name: str) -> Any:
    """Read the values of an attribute, except those by which Blender finds vertices or points."""
    check_values(host, value)
    return getattr(value, name)


def _read_animation(host: BlenderHost, value: Any, name: str) -> Any:
    """Read what determines the values of an F-curve, which may animate modifiers."""
    host.geometry.animate(value.data_path)
    return _read_keyed(host, value, name)


def _read_keyed(host: BlenderHost, value: Any, name: str) -> Any:
    """Read keyframes, or what has them."""
    host.stale.read_keys()
    return getattr(value, name)


def _computed(struct: str, *collections: str) -> Reader:
    """Return a reader of values that a mesh recomputes at another place after many changes: normals and triangles."""

    def read(_host: BlenderHost, value: Any, name: str) -> Any:
        mesh, pointer = value.id_data, value.as_pointer()
        for each in collections:
            items = getattr(mesh, each)
            count = len(items)
            if count and items[0].as_pointer() <= pointer <= items[count - 1].as_pointer():
                return _copy(getattr(value, name))
        raise ReferenceError(f"{struct} has been removed: the mesh has others now")

    return read


def _copy(value: Any) -> Any:
    """Return a copy of a vector or array, which does not refer to its owner."""
    if hasattr(value, "copy"):
        return value.copy()
    return tuple(map(_copy, value)) if hasattr(value, "__len__") else value


def _read_following(host: BlenderHost, value: Any, name: str) -> Any:
    """Read what follows the collections, or a text's lines: it may be gone when these change."""
    host.stale.touched_collections = True
    return getattr(value, name)


def _read_layers(host: BlenderHost, value: Any, name: str) -> Any:
    """Read layers: references to them follow when Blender makes others between them."""
    host.stale.read_layers()
    return _read_shared(host, value, name)


def _read_shared(host: BlenderHost, value: Any, name: str) -> Any:
    """Read parts of meshes, and arrays that copies share: the script's references to these have to follow."""
    host.stale.share(type(value), name)
    return getattr(value, name)


def _read_choices(_host: BlenderHost, value: Any, name: str) -> Any:
    """Read the items of an enum, unless Blender makes them for each reading and frees them at the end of it."""
    found = getattr(value, name)
    readings = [iter(found), iter(found)]  # what both show is there whether or not somebody reads it
    shown = {each.as_pointer() for each in (next(reading, None) for reading in readings) if each is not None}
    if len(shown) > 1:
        raise RuntimeError(
            f"{value.identifier}.{name}: Blender frees these items while a script still holds them: set the property "
            "to a name that it does not have, and read the names in the TypeError"
        )
    return found


READERS: dict[str, Reader] = {
    **dict.fromkeys(names("properties of F-curves"), _read_animation),
    **dict.fromkeys(names("properties that follow"), _read_following),
    **dict.fromkeys(names("properties in shared arrays"), _read_shared),
    **dict.fromkeys(names("properties that are layers"), _read_layers),
    "Context.selected_editable_keyframes": _read_keyed,
    "EnumProperty.enum_items": _read_choices,
    "Image.pixels": _read_pixels,
    "MeshNormalValue.vector": _computed(
        "MeshNormalValue", "vertex_normals", "polygon_normals", "corner_normals"
    ),
    **dict.fromkeys(
        (f"MeshLoopTriangle.{prop.identifier}" for prop in bpy.types.MeshLoopTriangle.bl_rna.properties),
        _computed("MeshLoopTriangle", "loop_triangles"),
    ),
    **depsgraph.READERS,
    **vertex_groups.READERS,
    **windows.READERS,
    **dict.fromkeys(("ByteIntAttribute.data", "IntAttribute.data", "Int2Attribute.data"), read_layer_data),
}
"""The readers by `Struct.property`."""
