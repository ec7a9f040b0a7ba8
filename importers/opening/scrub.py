# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove everything from foreign data-blocks that could run code or read files of this computer.

If the user allows scripts of trusted files, a scripted driver runs Python as soon as Blender evaluates it. A Text block
can run when a file is opened. A path may point to a file of the user or to a server that tracks who opens it.
The child that opens a foreign file uses this, and the open Blender uses it again on the appended data-blocks.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

import bpy

__all__ = ("all_ids", "strip")

#: Kinds of data-blocks that an asset may have. All others are removed: texts, sounds, libraries, which open further
#: files, and scenes with their Freestyle scripts and output paths.
_KINDS = frozenset(
    {
        *(
            "actions",
            "armatures",
            "cameras",
            "collections",
            "curves",
            "fonts",
            "grease_pencils",
            "hair_curves",
        ),
        *("images", "lattices", "lightprobes", "lights", "materials", "meshes", "metaballs", "node_groups"),
        *("objects", "particles", "pointclouds", "shape_keys", "speakers", "textures"),
    }
)
#: Nodes that run scripts, or that read or write files.
_NODES = ("ShaderNodeScript", "ShaderNodeTexIES", "GeometryNodeImport", "CompositorNodeOutputFile")
#: Modifiers that read or write files.
_MODIFIERS = frozenset({"DYNAMIC_PAINT", "FLUID", "MESH_CACHE", "MESH_SEQUENCE_CACHE", "OCEAN"})
#: Prefix of our own custom properties: a foreign file must not bring its own credit or asset id.
_OURS = "asset_"


def all_ids() -> Iterator[Any]:
    """Every data-block of the file."""
    for name in dir(bpy.data):
        found = getattr(bpy.data, name)
        if name != "all_ids" and isinstance(found, bpy.types.bpy_prop_collection):  # which lists them again
            yield from found


def strip(ids: Iterable[Any], folder: Path | None = None) -> dict[str, int]:
    """Clean these data-blocks; returns the kinds of removed things (in the plural) with their counts.

    Packs pictures from files inside `folder`; if it is None, no file is read.
    """
    removed = Counter[str]()
    wanted = {item for name in _KINDS for item in getattr(bpy.data, name, ())}
    kept: list[Any] = []
    dropped: list[Any] = []
    for item in ids:
        (kept if item in wanted and item.library is None else dropped).append(item)
    # Appending leaves an empty library, and linked data-blocks are removed with their library: do not count those.
    counted = [item for item in dropped if (item.users_id if _is_library(item) else item.library is None)]
    removed.update(_plural(item) for item in counted)
    for item in kept:
        for name in [name for name in item.keys() if name.startswith(_OURS)]:  # noqa: SIM118 - no mapping
            del item[name]
        _strip_drivers(item, removed)
        _strip_nodes(item, removed)
        if isinstance(item, bpy.types.Object):
            _strip_modifiers(item, removed)
            _strip_caches(item, removed)
        elif isinstance(item, bpy.types.Image):
            _pack(item, folder, removed)
        elif isinstance(item, bpy.types.Camera):
            _strip_camera(item, removed)
        elif isinstance(item, bpy.types.VectorFont) and item.filepath != "<builtin>":
            item.filepath = "<builtin>"
            removed["fonts from files"] += 1
    bpy.data.batch_remove(dropped)
    return dict(removed)


def _is_library(item: Any) -> bool:
    return isinstance(item, bpy.types.Library)


def _plural(item: Any) -> str:
    """The plural name for this kind of data-block."""
    name = type(item).__name__
    words = {"Text": "text blocks", "MovieClip": "movie clips", "CacheFile": "cache files"}
    return words.get(name) or ("libraries" if name == "Library" else f"{name.lower()}s")


def _strip_drivers(item: Any, removed: Counter[str]) -> None:
    for owner in (item, getattr(item, "node_tree", None)):
        animation = getattr(owner, "animation_data", None)
        for curve in list(animation.drivers) if animation else ():
            if curve.driver.type == "SCRIPTED":
                animation.drivers.remove(curve)
                removed["scripted drivers"] += 1


def _strip_nodes(item: Any, removed: Counter[str]) -> None:
    tree = item if isinstance(item, bpy.types.NodeTree) else getattr(item, "node_tree", None)
    for node in list(tree.nodes) if tree else ():
        if node.bl_idname.startswith(_NODES):
            tree.nodes.remove(node)
            removed["nodes that run scripts or read files"] += 1


def _strip_modifiers(item: Any, removed: Counter[str]) -> None:
    for modifier in list(item.modifiers):
        if modifier.type in _MODIFIERS or (modifier.type == "MULTIRES" and modifier.is_external):
            item.modifiers.remove(modifier)
            removed["modifiers that read files"] += 1
        elif modifier.type == "NODES":
            for owner, name in (
                (modifier, "bake_directory"),
                *((bake, "directory") for bake in modifier.bakes),
            ):
                if getattr(owner, name):
                    setattr(owner, name, "")
                    removed["folders of baked data"] += 1


def _strip_caches(item: Any, removed: Counter[str]) -> None:
    """Remove simulation caches that are in files of this computer."""
    caches = [system.point_cache for system in item.particle_systems]
    caches += [found for modifier in item.modifiers if (found := getattr(modifier, "point_cache", None))]
    for cache in caches:
        if cache.use_external or cache.use_disk_cache or cache.filepath:
            cache.use_external = cache.use_disk_cache = False
            cache.filepath = ""
            removed["simulations cached in files"] += 1


def _strip_camera(camera: Any, removed: Counter[str]) -> None:
    """Remove a camera's lens script, from Blender 5.0 on."""
    if getattr(camera, "type", "") == "CUSTOM":
        camera.type = "PERSP"
        camera.custom_shader, camera.custom_filepath = None, ""
        removed["lenses that are scripts"] += 1


def _pack(image: Any, folder: Path | None, removed: Counter[str]) -> None:
    """Pack the picture's file into the .blend; clear the path if that is impossible or not allowed."""
    if image.source in ("SEQUENCE", "MOVIE"):
        image.source, image.filepath = "GENERATED", ""
        removed["movies and picture sequences"] += 1
        return
    if image.source not in ("FILE", "TILED"):
        return
    if not image.packed_files and folder is not None and _lies_in(image, folder):
        with contextlib.suppress(RuntimeError):  # Blender raises it if the file is missing
            image.pack()
    if not image.packed_files:
        image.source, image.filepath = "GENERATED", ""
        removed["pictures whose file is missing"] += 1
    else:
        # Appending makes paths absolute, and packing stores them: remove the folders of this computer.
        name = PurePath(image.filepath_raw.replace("\\", "/")).name
        image.filepath_raw = f"//{name}"
        for packed in image.packed_files:
            packed.filepath = f"//{name}"


def _lies_in(image: Any, folder: Path) -> bool:
    path = Path(bpy.path.abspath(image.filepath_raw, library=image.library))
    return path.resolve().is_relative_to(folder.resolve())
