# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes a scene and its objects. Lengths in Blender units, angles in radians, in world space by default."""

from __future__ import annotations

import base64
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, get_args

import bpy
from mathutils import Vector

from ...base.errors import InvalidParamsError
from ...base.similar_names import did_you_mean, quoted
from .properties import plain, properties_of, short

__all__ = (
    "DEFAULT_FIELDS",
    "More",
    "ObjectField",
    "ObjectInfo",
    "SceneInfo",
    "find",
    "object_info",
    "scene_info",
)

Vec3 = tuple[float, float, float]
ObjectField = Literal[
    "type", "location", "rotation", "scale", "dimensions", "parent", "collections", "materials", "visible",
    "selected", "data", "vertices",
]  # fmt: skip
DEFAULT_FIELDS: tuple[ObjectField, ...] = ("type", "location", "dimensions", "visible")
#: The most collections that are listed; more are only counted.
_MOST_COLLECTIONS = 500


class Units(TypedDict, total=False):
    """The scene's units: `scale_length` is how many metres a unit of Blender is."""

    system: str
    length_unit: str
    scale_length: float


class Frames(TypedDict, total=False):
    """The first, last and current frame; `rate` is in frames a second."""

    start: int
    end: int
    current: int
    rate: float


class Render(TypedDict, total=False):
    """The engine; the resolution in pixels, of which `resolution_percentage` is rendered."""

    engine: str
    resolution: tuple[int, int]
    resolution_percentage: int


class CollectionInfo(TypedDict, total=False):
    """A collection, the one that contains it (None: it is the scene's own), and the number of its own objects."""

    name: str
    parent: str | None
    objects: int


class Page(TypedDict):
    """One page of a scene's objects; `matching` counts those of all pages."""

    name: str
    objects: list[dict[str, Any]]
    matching: int
    described: NotRequired[dict[str, Any]]
    next_cursor: NotRequired[str]


class SceneInfo(Page, total=False):
    """The first page has all of these fields, later pages only those of `Page`."""

    scenes: list[str]
    file: str
    unsaved_changes: bool
    mode: str
    active_object: str | None
    selected_count: int
    units: Units
    frames: Frames
    render: Render
    camera: str | None
    world: str | None
    collections: list[CollectionInfo]
    collection_count: int
    statistics: dict[str, int]
    object_types: dict[str, int]


#: `min`, `max`, `size` and `center` of a box along the world's axes.
Bounds = dict[str, Any]


class ObjectInfo(TypedDict):
    """One object in full."""

    name: str
    type: str
    data: str | None
    mode: str
    location: Vec3
    rotation_mode: str
    rotation_euler: Vec3
    scale: Vec3
    world_location: Vec3
    dimensions: Vec3
    bounds: Bounds | None
    parent: str | None
    children: list[str]
    collections: list[str]
    visible: bool
    selected: bool
    hide_viewport: bool
    hide_render: bool
    materials: list[str | None]
    modifiers: list[dict[str, Any]]
    constraints: list[dict[str, Any]]
    mesh: NotRequired[dict[str, Any]]
    light: NotRequired[dict[str, Any]]
    camera: NotRequired[dict[str, Any]]
    custom_properties: dict[str, Any]
    animated: bool
    library: str | None
    described: NotRequired[dict[str, Any]]


#: Returns further fields for a scene (None: for one object only) and its objects, such as `aspects.read_aspects`.
More = Callable[[Any, Sequence[Any]], dict[str, Any]]


def find(collection: Any, name: str, kind: str) -> Any:
    """Return the data-block of this name. Raises InvalidParamsError, which suggests similar names."""
    found = collection.get(name)
    if found is None:
        raise InvalidParamsError(
            f"There is no {kind} {quoted(name)} in this file.{did_you_mean(name, collection.keys())}"
        )
    return found


def scene_info(
    *,
    name: str | None = None,
    types: Iterable[str] = (),
    collection: str | None = None,
    name_contains: str = "",
    selected_only: bool = False,
    fields: Iterable[ObjectField] = DEFAULT_FIELDS,
    limit: int = 100,
    cursor: str | None = None,
    more: More | None = None,
) -> SceneInfo:
    """Describe the scene `name` (None: the active one) and the page of its objects after `cursor`.

    Objects are sorted by name; `matching` counts all that fit the filters. `more` adds fields about the page's objects
    and, on the first page, about the scene. Raises InvalidParamsError for an unknown name or an invalid cursor.
    """
    scene = find(bpy.data.scenes, name, "scene") if name else bpy.context.scene
    view_layer = scene.view_layers[0] if scene != bpy.context.scene else bpy.context.view_layer
    view_layer.update()
    every = list(scene.objects)
    found = _matching(every, view_layer, set(types), collection, name_contains.lower(), selected_only)
    names = sorted(found)
    after = _decode_cursor(cursor)
    begin = 0 if after is None else bisect_right(names, after)
    page = [found[item] for item in names[begin : begin + limit]]
    readers = [(field, _READERS[field]) for field in dict.fromkeys(fields)]
    info: SceneInfo = {
        "name": scene.name,
        **(_overview(scene, view_layer, every) if after is None else {}),  # type: ignore[typeddict-item]
        "objects": [{"name": item.name, **{f: read(item) for f, read in readers}} for item in page],
        "matching": len(names),
    }
    if more is not None:
        info["described"] = more(scene if after is None else None, page)
    if begin + limit < len(names):
        info["next_cursor"] = _encode_cursor(page[-1].name)
    return info


def _overview(scene: Any, view_layer: Any, every: Sequence[Any]) -> dict[str, Any]:
    collections = list(_collections(scene.collection, None))
    statistics, object_types = _statistics(every)
    return {
        "scenes": bpy.data.scenes.keys(),
        "file": bpy.data.filepath,
        "unsaved_changes": bpy.data.is_dirty,
        "mode": bpy.context.mode,
        "active_object": _name(view_layer.objects.active),
        "selected_count": len(view_layer.objects.selected),
        "units": {
            "system": scene.unit_settings.system,
            "length_unit": scene.unit_settings.length_unit,
            "scale_length": short(scene.unit_settings.scale_length),
        },
        "frames": {
            "start": scene.frame_start,
            "end": scene.frame_end,
            "current": scene.frame_current,
            "rate": short(scene.render.fps / scene.render.fps_base),
        },
        "render": {
            "engine": scene.render.engine,
            "resolution": (scene.render.resolution_x, scene.render.resolution_y),
            "resolution_percentage": scene.render.resolution_percentage,
        },
        "camera": _name(scene.camera),
        "world": _name(scene.world),
        "collections": collections[:_MOST_COLLECTIONS],
        "collection_count": len(collections),
        "statistics": statistics,
        "object_types": object_types,
    }


def object_info(name: str, more: More | None = None) -> ObjectInfo:
    """Describe the object `name` in full, with what `more` adds. Raises InvalidParamsError for an unknown name."""
    obj = find(bpy.data.objects, name, "object")
    bpy.context.view_layer.update()
    info: ObjectInfo = {
        "name": obj.name,
        "type": obj.type,
        "data": _name(obj.data),
        "mode": obj.mode,
        "location": _vector(obj.location),
        "rotation_mode": obj.rotation_mode,
        "rotation_euler": _vector(_euler(obj)),
        "scale": _vector(obj.scale),
        "world_location": _vector(obj.matrix_world.translation),
        "dimensions": _vector(obj.dimensions),
        "bounds": _bounds(obj),
        "parent": _name(obj.parent),
        "children": [child.name for child in obj.children],
        "collections": [collection.name for collection in obj.users_collection],
        "visible": _visible(obj),
        "selected": obj.select_get(),
        "hide_viewport": obj.hide_viewport,
        "hide_render": obj.hide_render,
        "materials": [_name(slot.material) for slot in obj.material_slots],
        "modifiers": [properties_of(modifier) for modifier in obj.modifiers],
        "constraints": [properties_of(constraint) for constraint in obj.constraints],
        "custom_properties": {key: plain(obj[key]) for key in obj.keys() if not key.startswith("_")},  # noqa: SIM118
        "animated": obj.animation_data is not None and obj.animation_data.action is not None,
        "library": obj.library.name if obj.library else None,
    }
    if obj.type in _DATA_READERS and obj.data is not None:
        key, read = _DATA_READERS[obj.type]
        info[key] = read(obj)  # type: ignore[literal-required]
    if more is not None:
        info["described"] = more(None, [obj])
    return info


def _matching(
    every: Sequence[Any], view_layer: Any, types: set[str], collection: str | None, part: str, selected: bool
) -> dict[str, Any]:
    """Return the objects that fit the filters, by name: Blender's own look-up by name searches a whole list."""
    pool: Iterable[Any] = every
    if collection is not None:
        pool = find(bpy.data.collections, collection, "collection").all_objects
    if selected:
        chosen = {obj.name for obj in view_layer.objects.selected}
        pool = (obj for obj in pool if obj.name in chosen)
    if types:
        pool = (obj for obj in pool if obj.type in types)
    found: dict[str, Any] = {}
    for obj in pool:
        found.setdefault(obj.name, obj)
    return {name: obj for name, obj in found.items() if part in name.lower()} if part else found


def _collections(collection: Any, parent: str | None) -> Iterable[CollectionInfo]:
    yield {"name": collection.name, "parent": parent, "objects": len(collection.objects)}
    for child in collection.children:
        yield from _collections(child, collection.name)


def _statistics(objects: Sequence[Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Return counts of the scene and the file, and the number of objects of each type."""
    kinds = [obj.type for obj in objects]
    types = Counter(kinds)
    meshes = Counter([obj.data for obj, kind in zip(objects, kinds, strict=True) if kind == "MESH"])
    vertices = sum(len(mesh.vertices) * users for mesh, users in meshes.items())
    faces = sum(len(mesh.polygons) * users for mesh, users in meshes.items())
    statistics = {
        "objects": len(objects),
        "vertices": vertices,
        "faces": faces,
        "meshes": len(bpy.data.meshes),
        "materials": len(bpy.data.materials),
        "images": len(bpy.data.images),
        "actions": len(bpy.data.actions),
        "node_groups": len(bpy.data.node_groups),
    }
    return statistics, dict(types)


def _encode_cursor(name: str) -> str:
    return base64.urlsafe_b64encode(json.dumps({"after": name}).encode()).decode().rstrip("=")


def _decode_cursor(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        after = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))["after"]
    except (ValueError, KeyError, TypeError):
        after = None
    if not isinstance(after, str):
        raise InvalidParamsError(
            "cursor is not one that this tool gave. Leave it out to start from the beginning."
        )
    return after


def _name(block: Any) -> str | None:
    return None if block is None else block.name


def _vector(vector: Any) -> Vec3:
    """Return three of Blender's floats as `short` rounds them: Blender rounds to the same numbers, and much faster."""
    return (vector if type(vector) is Vector else Vector(vector)).to_tuple(5)


def _euler(obj: Any) -> Any:
    if obj.rotation_mode == "QUATERNION":
        return obj.rotation_quaternion.to_euler()
    if obj.rotation_mode == "AXIS_ANGLE":
        return obj.matrix_basis.to_euler()
    return obj.rotation_euler


def _visible(obj: Any) -> bool:
    return obj.visible_get()


def _bounds(obj: Any) -> Bounds | None:
    """Return the bounding box of the object, modifiers included, along the world's axes."""
    if obj.type in {"EMPTY", "LIGHT", "CAMERA", "SPEAKER", "LIGHT_PROBE"}:
        return None
    corners = obj.bound_box
    low, high = Vector(corners[0]), Vector(corners[6])
    half: Any = (high - low) / 2
    matrix = obj.matrix_world
    center = matrix @ ((low + high) / 2)
    # The bounding box of a rotated box: each half side adds its projection onto each axis of the world.
    x, y, z = half
    reach = Vector([abs(a) * x + abs(b) * y + abs(c) * z for a, b, c in matrix.to_3x3()])
    low, high = center - reach, center + reach
    return {
        "min": _vector(low),
        "max": _vector(high),
        "size": _vector(high - low),
        "center": _vector(center),
    }


def _mesh(obj: Any) -> dict[str, Any]:
    mesh = obj.data
    if mesh.is_editmode:
        obj.update_from_editmode()
    faces = len(mesh.polygons)
    return {
        "vertices": len(mesh.vertices),
        "edges": len(mesh.edges),
        "faces": faces,
        "triangles": len(mesh.loops) - 2 * faces,
        "uv_layers": mesh.uv_layers.keys(),
        "color_attributes": mesh.color_attributes.keys(),
        "vertex_groups": obj.vertex_groups.keys(),
        "shape_keys": mesh.shape_keys.key_blocks.keys() if mesh.shape_keys else [],
    }


def _light(obj: Any) -> dict[str, Any]:
    light = obj.data
    return {"type": light.type, "energy": short(light.energy), "color": _vector(light.color)}


def _camera(obj: Any) -> dict[str, Any]:
    camera = obj.data
    return {
        "type": camera.type,
        "lens": short(camera.lens),
        "ortho_scale": short(camera.ortho_scale),
        "clip_start": short(camera.clip_start),
        "clip_end": short(camera.clip_end),
        "active": obj == bpy.context.scene.camera,
    }


_READERS: Mapping[ObjectField, Callable[[Any], Any]] = {
    "type": lambda obj: obj.type,
    "location": lambda obj: _vector(obj.matrix_world.translation),
    "rotation": lambda obj: _vector(_euler(obj)),
    "scale": lambda obj: _vector(obj.scale),
    "dimensions": lambda obj: _vector(obj.dimensions),
    "parent": lambda obj: _name(obj.parent),
    "collections": lambda obj: [collection.name for collection in obj.users_collection],
    "materials": lambda obj: [_name(slot.material) for slot in obj.material_slots],
    "visible": _visible,
    "selected": lambda obj: obj.select_get(),
    "data": lambda obj: _name(obj.data),
    "vertices": lambda obj: len(obj.data.vertices) if obj.type == "MESH" else 0,
}
assert set(_READERS) == set(get_args(ObjectField))

_DATA_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "MESH": ("mesh", _mesh),
    "LIGHT": ("light", _light),
    "CAMERA": ("camera", _camera),
}
