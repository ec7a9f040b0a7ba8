# SPDX-License-Identifier: GPL-3.0-or-later
"""Take out of foreign data-blocks what could run code or read files of this computer.

A scripted driver runs Python as soon as it is evaluated, where the user allows that for trusted files; a Text block
can run when a file is opened; a path may lead to a file of the user's or to a server that wants to know who opens it.
Used in the child that opens a foreign file, and again on what the live scene takes over from it.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

import bpy

__all__ = ("all_ids", "strip")

#: Kinds of data-blocks that an asset is made of. Whatever else comes along is dropped: texts, sounds, libraries that
#: open further files, scenes with their scripts of Freestyle and their output paths.
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
#: Nodes that run scripts, or read files by themselves.
_NODES = ("ShaderNodeScript", "ShaderNodeTexIES", "GeometryNodeImport", "CompositorNodeOutputFile")
#: Modifiers that read or write files by themselves.
_MODIFIERS = frozenset({"DYNAMIC_PAINT", "FLUID", "MESH_CACHE", "MESH_SEQUENCE_CACHE", "OCEAN"})
#: How the names of our own custom properties begin: a foreign file must not bring a credit or an identity along.
_OURS = "asset_"


def all_ids() -> Iterator[Any]:
    """Every data-block there is."""
    for name in dir(bpy.data):
        found = getattr(bpy.data, name)
        if name != "all_ids" and isinstance(found, bpy.types.bpy_prop_collection):  # they stand there again
            yield from found


def strip(ids: Iterable[Any], folder: Path | None = None) -> dict[str, int]:
    """Clean these data-blocks; gives what was removed, by its name in the plural, and how much of it.

    Pictures are packed from their files below `folder`; without it no file is read.
    """
    removed = Counter[str]()
    wanted = {item for name in _KINDS for item in getattr(bpy.data, name, ())}
    kept: list[Any] = []
    dropped: list[Any] = []
    for item in ids:
        (kept if item in wanted and item.library is None else dropped).append(item)
    # Appending leaves an empty library behind, and what is linked goes with its library.
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
    """What people call several of its kind."""
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
    """Caches of simulations that lie in files of this computer."""
    caches = [system.point_cache for system in item.particle_systems]
    caches += [found for modifier in item.modifiers if (found := getattr(modifier, "point_cache", None))]
    for cache in caches:
        if cache.use_external or cache.use_disk_cache or cache.filepath:
            cache.use_external = cache.use_disk_cache = False
            cache.filepath = ""
            removed["simulations cached in files"] += 1


def _strip_camera(camera: Any, removed: Counter[str]) -> None:
    """A lens that is a script, from Blender 5.0 on."""
    if getattr(camera, "type", "") == "CUSTOM":
        camera.type = "PERSP"
        camera.custom_shader, camera.custom_filepath = None, ""
        removed["lenses that are scripts"] += 1


def _pack(image: Any, folder: Path | None, removed: Counter[str]) -> None:
    """Take the picture's file into the .blend; forget the path of one that can't be, or may not."""
    if image.source in ("SEQUENCE", "MOVIE"):
        image.source, image.filepath = "GENERATED", ""
        removed["movies and picture sequences"] += 1
        return
    if image.source not in ("FILE", "TILED"):
        return
    if not image.packed_files and folder is not None and _lies_in(image, folder):
        with contextlib.suppress(RuntimeError):  # Blender's way to say that there is no such file
            image.pack()
    if not image.packed_files:
        image.source, image.filepath = "GENERATED", ""
        removed["pictures whose file is missing"] += 1
    else:
        # Appending makes paths absolute, and packing notes them: nothing of this computer's folders stays.
        name = PurePath(image.filepath_raw.replace("\\", "/")).name
        image.filepath_raw = f"//{name}"
        for packed in image.packed_files:
            packed.filepath = f"//{name}"


def _lies_in(image: Any, folder: Path) -> bool:
    path = Path(bpy.path.abspath(image.filepath_raw, library=image.library))
    return path.resolve().is_relative_to(folder.resolve())
