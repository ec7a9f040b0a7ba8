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
from pathlib import PurePath
from typing import Any

import bpy

__all__ = ("all_ids", "strip")

#: Nodes that run scripts, or read files by themselves.
_NODES = ("ShaderNodeScript", "ShaderNodeTexIES", "GeometryNodeImport", "CompositorNodeOutputFile")
#: Modifiers that read files by themselves.
_MODIFIERS = frozenset({"MESH_CACHE", "MESH_SEQUENCE_CACHE", "FLUID"})
#: Kinds of data-blocks that are nothing but a script or a file, besides pictures and fonts, which can be packed.
_FILES = ("texts", "sounds", "movieclips", "cache_files", "volumes", "libraries")


def all_ids() -> Iterator[Any]:
    """Every data-block there is."""
    for name in dir(bpy.data):
        found = getattr(bpy.data, name)
        if isinstance(found, bpy.types.bpy_prop_collection):
            yield from found


def strip(ids: Iterable[Any]) -> dict[str, int]:
    """Clean these data-blocks; gives what was removed, by its name in the plural, and how much of it."""
    given, removed = list(ids), Counter[str]()
    unwanted = {item for name in _FILES for item in getattr(bpy.data, name, ())}
    kept = [item for item in given if item not in unwanted]
    dropped = [item for item in given if item in unwanted]
    # Appending leaves an empty library behind: nothing that came out of the file.
    removed.update(
        _plural(item) for item in dropped if not isinstance(item, bpy.types.Library) or item.users_id
    )
    for item in kept:
        _strip_drivers(item, removed)
        _strip_nodes(item, removed)
        if isinstance(item, bpy.types.Object):
            _strip_modifiers(item, removed)
        elif isinstance(item, bpy.types.Image):
            _pack(item, removed)
        elif isinstance(item, bpy.types.VectorFont) and item.filepath != "<builtin>":
            item.filepath = "<builtin>"
            removed["fonts from files"] += 1
    bpy.data.batch_remove(dropped)
    return dict(removed)


def _plural(item: Any) -> str:
    return {
        "Text": "text blocks",
        "Sound": "sounds",
        "MovieClip": "movie clips",
        "CacheFile": "cache files",
        "Volume": "volumes",
        "Library": "libraries",
    }[type(item).__name__]


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
        if modifier.type in _MODIFIERS:
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


def _pack(image: Any, removed: Counter[str]) -> None:
    """Take the picture's file into the .blend; forget the path of one that can't be."""
    if image.source not in ("FILE", "TILED"):
        if image.source in ("SEQUENCE", "MOVIE"):
            image.source, image.filepath = "GENERATED", ""
            removed["movies and picture sequences"] += 1
        return
    if image.packed_file is None and not image.packed_files:
        with contextlib.suppress(RuntimeError):  # Blender's way to say that there is no such file
            image.pack()
    if image.packed_file is None and not image.packed_files:
        image.source, image.filepath = "GENERATED", ""
        removed["pictures whose file is missing"] += 1
    else:
        # Appending makes paths absolute, and packing notes them: nothing of this computer's folders stays.
        name = PurePath(image.filepath_raw.replace("\\", "/")).name
        image.filepath_raw = f"//{name}"
        for packed in image.packed_files:
            packed.filepath = f"//{name}"
