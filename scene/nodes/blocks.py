# SPDX-License-Identifier: GPL-3.0-or-later
"""Data-blocks that nodes and sockets hold: where they are in bpy.data, and how a plan names them."""

from __future__ import annotations

from typing import Any

import bpy

__all__ = ("COLLECTIONS", "HELD", "found")

Json = dict[str, Any]

#: Which collection of bpy.data has the blocks of a type.
COLLECTIONS = {
    "Object": "objects", "Image": "images", "Material": "materials", "Collection": "collections",
    "Texture": "textures", "VectorFont": "fonts", "Sound": "sounds", "Text": "texts", "Scene": "scenes",
    "NodeTree": "node_groups", "Mask": "masks", "MovieClip": "movieclips", "World": "worlds",
    "ShaderNodeTree": "node_groups", "GeometryNodeTree": "node_groups", "CompositorNodeTree": "node_groups",
    "TextureNodeTree": "node_groups",
}  # fmt: skip
#: What a type of socket holds.
HELD = {
    "NodeSocketObject": "Object", "NodeSocketCollection": "Collection", "NodeSocketImage": "Image",
    "NodeSocketMaterial": "Material", "NodeSocketTexture": "Texture", "NodeSocketFont": "VectorFont",
    "NodeSocketSound": "Sound", "NodeSocketScene": "Scene", "NodeSocketText": "Text",
}  # fmt: skip


def found(told: Json) -> Any:
    """The data-block that is told as `{"block": [collection, name, library]}`; None where there is none."""
    collection, name, library = told["block"]
    blocks = getattr(bpy.data, collection)
    return blocks.get((name, library)) if library else blocks.get(name)
