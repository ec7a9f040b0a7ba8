# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a foreign file and write a clean .blend; this module runs in a confined Blender without a window.

FOLDER/job.json is the task (see `Job`), FOLDER/files/ holds the files. The child writes one collection to
FOLDER/asset.blend, and answers with a `Report`. No extension is registered there: the child has only this module and
its imports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import bpy
from mathutils import Matrix, Vector

from ...base.errors import BridgeError
from .archive import unpack
from .scrub import strip

__all__ = ("Job", "Report", "main")

_NAME_LENGTH = 58
#: The generated type stubs of these have wrong optional arguments and return types.
_data: Any = bpy.data
_ops: Any = bpy.ops


class Job(TypedDict):
    """The task. `format` is a key of `_IMPORTERS` or `picture`, `file` a path inside FOLDER/files. From a .blend, the
    first existing collection of `collections` is used.

    `size`: the length of the longest side in metres, None for the file's own. `ground`: move the middle of the bottom
    to the origin instead of keeping the author's origin. `unwrap`: remove empties that only wrap other objects.
    """

    format: str
    file: str
    title: str
    collections: list[str]
    size: float | None
    ground: bool
    unwrap: bool


class Report(TypedDict):
    """The result: `collection` is its name in the .blend, `roots` are the objects without a parent.

    `dimensions` are in metres; `removed` is the result of `scrub.strip`. For the format `picture` there is an `image`
    instead, with dimensions in pixels. If `error` is set, there is no result.
    """

    error: NotRequired[str]
    collection: NotRequired[str]
    image: NotRequired[str]
    roots: NotRequired[list[str]]
    dimensions: NotRequired[list[float]]
    removed: NotRequired[dict[str, int]]


class _Refused(Exception):
    """The file can't be used; the message is for the user."""


def main(folder: Path) -> Report:
    """Do the job in this folder, and return the report."""
    job: Job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    convert = _picture if job["format"] == "picture" else _convert
    try:
        return convert(job, folder / "files" / job["file"], folder / "asset.blend")
    except (
        _Refused,
        BridgeError,
        RuntimeError,
        OSError,
        ValueError,
    ) as error:  # operators raise RuntimeError
        return Report(error=str(error).strip() or type(error).__name__)


def _convert(job: Job, path: Path, result: Path) -> Report:
    _ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    collection = _data.collections.new(job["title"][:_NAME_LENGTH] or "Asset")
    bpy.context.scene.collection.children.link(collection)
    for item in _IMPORTERS[job["format"]](job, path):
        if item.library is not None:
            continue  # from a linked file: it is removed with its library
        for parent in item.users_collection:
            parent.objects.unlink(item)
        collection.objects.link(item)
    foreign = {*_used(collection), *_data.texts, *_data.libraries} - {bpy.context.scene}
    removed = strip(foreign, result.parent)
    if not collection.objects:
        raise _Refused("The file has no objects.")
    if job["unwrap"]:
        _unwrap(collection)
    dimensions = _arrange(collection, job)
    _data.libraries.write(str(result), {collection}, path_remap="NONE", compress=False)
    return Report(
        collection=collection.name,
        roots=[item.name for item in collection.objects if item.parent is None],
        dimensions=dimensions,
        removed=removed,
    )


def _picture(job: Job, path: Path, result: Path) -> Report:
    """Read a picture to its last pixel, so that a file that crashes a decoder does so in this process."""
    image = _data.images.load(str(path))
    width, height = image.size
    if not width or not height or not len(image.pixels):
        raise _Refused("Blender can't read this picture.")
    image.name = job["title"][:_NAME_LENGTH] or "Picture"
    image.use_fake_user = True  # it has no users yet
    removed = strip([image], result.parent)
    _data.libraries.write(str(result), {image}, path_remap="NONE", compress=False)
    return Report(image=image.name, roots=[], dimensions=[width, height], removed=removed)


def _used(collection: Any) -> list[Any]:
    """The collection and every data-block that it uses directly or indirectly, but not through a scene."""
    users = _data.user_map()
    needs: dict[Any, list[Any]] = {}
    for item, by in users.items():
        for user in by:
            needs.setdefault(user, []).append(item)
    found, left = {collection}, [collection]
    while left:
        for item in needs.get(left.pop(), ()):
            if item not in found:
                found.add(item)
                if not isinstance(item, bpy.types.Scene):
                    left.append(item)
    return list(found)


# ------------------------------------------------------------------------------------------------- reading files


def _import(operator: Any, path: Path, **wanted: Any) -> list[Any]:
    """Run an importer with the options that exist in this Blender."""
    known = operator.get_rna_type().properties.keys()
    operator(filepath=str(path), **{name: value for name, value in wanted.items() if name in known})
    made = list(bpy.context.scene.objects)
    if not made:
        raise _Refused("Blender's importer found nothing in the file.")
    # Bone shapes are no part of the scene and would become stray objects.
    return [item for item in made if not any(c.name == "glTF_not_exported" for c in item.users_collection)]


def _gltf(job: Job, path: Path) -> list[Any]:
    # The importer would pack pictures from any path in the file; `strip` packs only those that came with the file.
    return _import(_ops.import_scene.gltf, path, import_pack_images=False, disable_bone_shape=True)


def _zip(job: Job, path: Path) -> list[Any]:
    """Import a glTF with its pictures from an archive."""
    files = unpack(
        path, path.parents[1] / "unpacked"
    )  # in FOLDER: the files folder inside it belongs to the parent process
    scenes = [file for file in files if file.suffix.lower() in (".gltf", ".glb")]
    if not scenes:
        raise _Refused("There is no glTF in the archive.")
    return _gltf(job, min(scenes, key=lambda file: len(file.parts)))


def _fbx(job: Job, path: Path) -> list[Any]:
    if hasattr(bpy.types, _ops.import_scene.fbx.idname()):
        return _import(_ops.import_scene.fbx, path, use_custom_props=False)
    return _import(_ops.wm.fbx_import, path)


def _blend(job: Job, path: Path) -> list[Any]:
    """The objects of one collection; if it has several levels of detail, only the chosen one."""
    with _data.libraries.load(str(path), link=False) as (there, taken):
        name = next((name for name in job["collections"] if name in there.collections), None)
        if name is None:
            listed = ", ".join(map(repr, sorted(there.collections)[:8])) or "none"
            raise _Refused(f"None of the collections {job['collections']} is in the file; it has: {listed}.")
        taken.collections = [name]
    chosen = _data.collections[taken.collections[0].name]
    unwanted = [item for item in chosen.children_recursive if _is_other_level(item.name, name)]
    stray = {item for other in unwanted for item in other.all_objects}
    stray |= {item for item in chosen.all_objects if _is_other_level(item.name, name)}
    kept = [item for item in chosen.all_objects if item not in stray]
    _data.batch_remove([*stray, chosen, *chosen.children_recursive])
    return kept


def _is_other_level(name: str, chosen: str) -> bool:
    """Whether an object is another level of detail than the chosen collection."""
    level = chosen.rpartition("_LOD")[2] if "_LOD" in chosen else "0"
    _, mark, number = name.partition("_LOD")
    return bool(mark) and number[:1].isdigit() and number[:1] != level[:1]


def _usd(job: Job, path: Path) -> list[Any]:
    return _import(_ops.wm.usd_import, path, import_textures_mode="IMPORT_PACK")


_IMPORTERS: dict[str, Callable[[Job, Path], list[Any]]] = {
    "gltf": _gltf,
    "zip": _zip,
    "fbx": _fbx,
    "blend": _blend,
    "obj": lambda _job, path: _import(_ops.wm.obj_import, path),
    "stl": lambda _job, path: _import(_ops.wm.stl_import, path),
    "ply": lambda _job, path: _import(_ops.wm.ply_import, path),
    "usd": _usd,
}


# --------------------------------------------------------------------------------------------------- arranging it


def _unwrap(collection: Any) -> None:
    """Remove empties at the top that only hold one child; the child keeps its place in the world."""
    while True:
        found = next(_wrappers(collection), None)
        if found is None:
            return
        wrapper, child = found
        place = wrapper.matrix_world @ child.matrix_local
        child.parent = None
        child.matrix_parent_inverse.identity()
        child.matrix_basis = place
        _data.objects.remove(wrapper)
        bpy.context.view_layer.update()


def _wrappers(collection: Any) -> Iterator[tuple[Any, Any]]:
    bpy.context.view_layer.update()
    for item in collection.objects:
        if item.type != "EMPTY" or item.parent or len(item.children) != 1 or _is_moved(item):
            continue
        child = item.children[0]
        if child.parent_type == "OBJECT" and not _is_moved(child) and _is_plain(item, child, collection):
            yield item, child


def _is_moved(item: Any) -> bool:
    """Whether something besides its own transform places the object, now or at another frame."""
    return bool(item.animation_data or item.constraints or item.instance_type != "NONE")


def _is_plain(item: Any, child: Any, collection: Any) -> bool:
    """Whether nothing else refers to the empty, and its child can do without it without shear."""
    others = _data.user_map(subset={item})[item] - {collection, child, bpy.context.scene}
    place = item.matrix_world @ child.matrix_local
    straight = Matrix.LocRotScale(*place.decompose())
    sheared = any((place[row] - straight[row]).length > 1e-4 for row in range(4))
    return not others and not sheared


def _arrange(collection: Any, job: Job) -> list[float]:
    """Scale the collection and move it to the ground as the job says; returns its dimensions."""
    (x, y, z), size = _bounds(collection)
    scale = job["size"] / max(size) if job["size"] and max(size) > 0 else 1.0
    foot = Vector((x + size[0] / 2, y + size[1] / 2, z)) if job["ground"] else Vector()
    place = Matrix.Scale(scale, 4) @ Matrix.Translation(-foot)
    roots = [item for item in collection.objects if item.parent is None]
    if any(_is_moved(item) for item in roots):
        roots = [_hold(collection, roots, job["title"])]
    for item in roots:
        item.matrix_world = place @ item.matrix_world
    return [length * scale for length in size]


def _hold(collection: Any, roots: list[Any], title: str) -> Any:
    """Add an empty as parent of the roots: an animated object can only be moved by a parent."""
    holder = _data.objects.new(title[:_NAME_LENGTH] or "Asset", None)
    collection.objects.link(holder)
    for item in roots:
        item.parent = holder
    return holder


def _bounds(collection: Any) -> tuple[list[float], list[float]]:
    """The bounding box of all objects with a size, in world space: its lowest corner, and the lengths of its sides."""
    view: Any = bpy.context.view_layer
    view.update()
    graph = bpy.context.evaluated_depsgraph_get()
    corners = [
        item.matrix_world @ Vector(corner)
        for item in (item.evaluated_get(graph) for item in collection.objects)
        if item.type not in ("EMPTY", "LIGHT", "CAMERA", "ARMATURE")
        for corner in item.bound_box
    ] or [Vector()]
    axes = list(zip(*corners, strict=True))
    return [min(axis) for axis in axes], [max(axis) - min(axis) for axis in axes]
