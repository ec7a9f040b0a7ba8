# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds data-blocks that nodes and sockets refer to: their place in bpy.data, and their form in a plan."""

from __future__ import annotations

from typing import Any

import bpy

__all__ = ("COLLECTIONS", "HELD", "found")

Json = dict[str, Any]

#: Type of data-block -> its collection in bpy.data.
COLLECTIONS = {
    "Object": "objects", "Image": "images", "Material": "materials", "Collection": "collections",
    "Texture": "textures", "VectorFont": "fonts", "Sound": "sounds", "Text": "texts", "Scene": "scenes",
    "NodeTree": "node_groups", "Mask": "masks", "MovieClip": "movieclips", "World": "worlds",
    "ShaderNodeTree": "node_groups", "GeometryNodeTree": "node_groups", "CompositorNodeTree": "node_groups",
    "TextureNodeTree": "node_groups",
}  # fmt: skip
#: Type of socket -> the type of data-block that it refers to.
HELD = {
    "NodeSocketObject": "Object", "NodeSocketCollection": "Collection", "NodeSocketImage": "Image",
    "NodeSocketMaterial": "Material", "NodeSocketTexture": "Texture", "NodeSocketFont": "VectorFont",
    "NodeSocketSound": "Sound", "NodeSocketScene": "Scene", "NodeSocketText": "Text",
}  # fmt: skip


def found(told: Json) -> Any:
    """Return the data-block for `{"block": [collection, name, library]}`; None if it does not exist."""
    collection, name, library = told["block"]
    blocks = getattr(bpy.data, collection)
    return blocks.get((name, library)) if library else blocks.get(name)
