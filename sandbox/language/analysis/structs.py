# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of Blender's structs before a script runs: members that no guard looks at, and what they give.

The names of structs are RNA's. This repeats, for what scripts use most, what `blender.access` decides from the
allow-lists and RNA while a script runs; the tests compare the two in each Blender.
"""

from __future__ import annotations

from typing import Final

__all__ = ("CONTEXT", "DATA", "READ", "RETURNS", "SHOWN", "WRITTEN")

RETURNS: Final = "returns "
"""Prefix of the kind of a function whose result is known."""
CONTEXT: Final = "Context"
"""The struct of `bpy.context`."""
DATA: Final = "BlendData"
"""The struct of `bpy.data`."""

#: By collection of `bpy.data`: its struct, and that of its items, where `new` needs no look at its arguments.
_MADE: Final = {
    "actions": ("BlendDataActions", "Action"),
    "armatures": ("BlendDataArmatures", "Armature"),
    "cameras": ("BlendDataCameras", "Camera"),
    "collections": ("BlendDataCollections", "Collection"),
    "curves": ("BlendDataCurves", "Curve"),
    "lattices": ("BlendDataLattices", "Lattice"),
    "lights": ("BlendDataLights", "Light"),
    "materials": ("BlendDataMaterials", "Material"),
    "meshes": ("BlendDataMeshes", "Mesh"),
    "metaballs": ("BlendDataMetaBalls", "MetaBall"),
    "node_groups": ("BlendDataNodeTrees", "NodeTree"),
    "objects": ("BlendDataObjects", "Object"),
    "particles": ("BlendDataParticles", "ParticleSettings"),
    "scenes": ("BlendDataScenes", "Scene"),
    "texts": ("BlendDataTexts", "Text"),
    "textures": ("BlendDataTextures", "Texture"),
    "worlds": ("BlendDataWorlds", "World"),
}
#: `name:Struct` gives such a struct, or None; `name():Struct` is a function that returns one.
_READ: Final = {
    CONTEXT: """active_object:Object collection:Collection edit_object:Object mode object:Object scene:Scene
        selected_objects view_layer:ViewLayer""",
    DATA: "images " + " ".join(f"{name}:{collection}" for name, (collection, _item) in _MADE.items()),
    **{collection: f"new():{item}" for collection, item in _MADE.values()},
    "AnimData": "action:Action drivers nla_tracks",
    "Armature": "bones edit_bones",
    "Camera": "lens name",
    "Collection": "children name objects:CollectionObjects",
    "CollectionObjects": "link",
    "LayerObjects": "active:Object",
    "Light": "name",
    "Material": "name node_tree:NodeTree",
    "Mesh": "materials:IDMaterials name",
    "NodeTree": "interface links name nodes",
    "Object": """animation_data:AnimData children constraints data dimensions hide_set location material_slots
        matrix_world modifiers name parent rotation_euler scale select_get select_set type vertex_groups""",
    "RenderSettings": "engine resolution_percentage resolution_x resolution_y",
    "Scene": """camera:Object collection:Collection frame_current frame_end frame_start name objects
        render:RenderSettings view_settings world:World""",
    "ViewLayer": "name objects:LayerObjects",
    "World": "name node_tree:NodeTree",
}
_WRITTEN: Final = {
    "Camera": "clip_end clip_start lens",
    "Light": "color",
    "Object": "hide_render hide_viewport location name rotation_euler scale",
    "RenderSettings": "resolution_percentage resolution_x resolution_y",
    "Scene": "frame_current frame_end frame_start",
}


def _parsed(listed: str) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for each in listed.split():
        name, _, kind = each.partition(":")
        kinds[name.removesuffix("()")] = RETURNS + kind if name.endswith("()") else kind
    return kinds


READ: Final[dict[object, dict[str, str]]] = {struct: _parsed(listed) for struct, listed in _READ.items()}
"""By struct and member what reading it gives: a struct, `RETURNS` and a struct, or "" for what is not known."""
SHOWN: Final = frozenset(READ) - {"CollectionObjects", "IDMaterials", "LayerObjects"}
"""Structs of which Python's garbage collector shows the references, and collections that last as long as Blender."""
WRITTEN: Final[dict[object, frozenset[str]]] = {
    struct: frozenset(listed.split()) for struct, listed in _WRITTEN.items()
}
"""By struct the members that may be set to anything."""
