# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about Blender's structs for the time before a script runs: members that need no guard, and their results.

The names of structs are RNA's. For the members that scripts use most, this repeats what `blender.access` decides at
run time from the allow-lists and RNA; the tests compare the two in each Blender.
"""

from __future__ import annotations

from typing import Final

__all__ = ("CONTEXT", "DATA", "READ", "RETURNS", "SHOWN", "WRITTEN")

RETURNS: Final = "returns "
"""The prefix of the kind of a function whose result is known."""
CONTEXT: Final = "Context"
"""The struct of `bpy.context`."""
DATA: Final = "BlendData"
"""The struct of `bpy.data`."""

#: Collections of `bpy.data`: the collection's struct, and its items' struct, where `new` need not check its arguments.
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
#: `name:Struct` returns such a struct, or None; `name():Struct` is a function that returns one.
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
"""The result of reading a member, by struct and member: a struct, `RETURNS` and a struct, or "" for an unknown kind."""
SHOWN: Final = frozenset(READ) - {"CollectionObjects", "IDMaterials", "LayerObjects"}
"""Structs whose references Python's garbage collector shows, and collections that last as long as Blender."""
WRITTEN: Final[dict[object, frozenset[str]]] = {
    struct: frozenset(listed.split()) for struct, listed in _WRITTEN.items()
}
"""Members that may be set to any value, by struct."""
