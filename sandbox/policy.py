# SPDX-License-Identifier: GPL-3.0-or-later
"""What is allowed, as data: the levels, their imports, and the allow-lists of Blender.

A level is a `Policy`. Everything else in the sandbox asks a policy and never compares level names. What the
allow-lists do not name is refused, so what a new Blender brings is refused until a person has reviewed it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

__all__ = ("LEVELS", "Level", "Policy", "policy")

Level = Literal["arithmetic", "math", "blender"]

#: From what allows least to what allows most: a call may ask for less than the settings say, never for more.
LEVELS: Final[tuple[Level, ...]] = ("arithmetic", "math", "blender")

_LISTS = Path(__file__).parent / "allowlists"

_MATH_IMPORTS = frozenset(
    """
    math cmath random colorsys itertools functools collections collections.abc dataclasses enum json
    statistics string textwrap datetime time typing types operator array copy fractions decimal
    numbers bisect heapq re abc contextlib uuid hashlib pprint warnings traceback __future__
    """.split()
)
_BLENDER_IMPORTS = _MATH_IMPORTS | frozenset(
    """
    bpy bpy.data bpy.context bpy.ops bpy.types bpy.app bpy.path bpy.utils bpy.utils.units bmesh
    bmesh.ops bmesh.types bmesh.utils bmesh.geometry mathutils mathutils.bvhtree mathutils.geometry
    mathutils.interpolate mathutils.kdtree mathutils.noise bpy_extras bpy_extras.object_utils
    bpy_extras.mesh_utils bpy_extras.view3d_utils bpy_extras.anim_utils bpy_extras.node_utils
    bpy_extras.node_shader_utils bpy_extras.bmesh_utils numpy
    """.split()
)


@dataclass(frozen=True)
class Policy:
    """What one level allows. Struct members are listed at the struct that adds them: ask with the lineage."""

    level: Level
    imports: frozenset[str]
    #: Vertices (or curve points, or particles) that one step may make in Blender.
    geometry: int = 2_000_000
    #: Idnames of operators, `mesh.primitive_cube_add`.
    operators: frozenset[str] = frozenset()
    _read: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    _write: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    _call: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)

    @property
    def has_blender(self) -> bool:
        """Whether a script of this level sees `bpy`."""
        return "bpy" in self.imports

    def readable(self, struct: str) -> frozenset[str]:
        """Names of the properties of `struct` itself, not of its bases, that may be read."""
        return self._read.get(struct, frozenset())

    def writable(self, struct: str) -> frozenset[str]:
        """Names of the properties of `struct` itself that may be written."""
        return self._write.get(struct, frozenset())

    def callable(self, struct: str) -> frozenset[str]:
        """Names of the functions of `struct` itself that may be called."""
        return self._call.get(struct, frozenset())

    def why_operator(self, idname: str) -> str:
        """Why an operator that is not listed is refused, and what to do instead."""
        module, _, name = idname.partition(".")
        return _OPERATOR_REASONS.get(idname) or _OPERATOR_REASONS.get(module) or _by_word(name)


#: Reasons by operator or module; {} is nothing more than what is said to the assistant.
_OPERATOR_REASONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("uv.move_on_axis", "uv.stitch"),
        "Blender crashes of it where there is no UV editor: set the UVs by uv_layers[…].uv instead",
    ),
    "anim.slot_channels_move_to_new_action": (
        "Blender crashes of it where there is no animation editor: give the object an action of its own"
    ),
    "render": "rendering blocks Blender and writes files: set the scene up and call the tool render_image",
    "wm": "it opens, saves, imports or exports files, or changes the session: ask the user to do it",
    "screen": "it changes the user's window: work on bpy.data instead",
    "preferences": "a script may not change the user's preferences or add-ons",
    "extensions": "a script may not install, remove or change extensions",
    "script": "it runs code outside the sandbox",
    "text": "it opens files and runs code: use bpy.data.texts.new() and .write() for notes",
    "console": "it runs code outside the sandbox",
    "file": "it works on files outside the scene",
    "ed": "the bridge makes one undo step of the whole request: leave undo to it",
    "image": "it opens or saves files: use bpy.data.images.new() and .pixels",
    "sound": "it opens files",
    "node": "it needs a node editor: use node_tree.nodes.new(), .remove() and node_tree.links.new()",
    "outliner": "it needs an outliner, or purges data of the user's: use bpy.data.<kind>.remove(item)",
    "import_scene": "imports go through the bridge's asset tools",
    "export_scene": "a script may not write files",
    "ui": "it needs the mouse over a button",
    "ptcache": "baking blocks Blender and writes caches: ask the user to bake",
    "fluid": "baking blocks Blender and writes caches: ask the user to bake",
    "sequencer": "it needs a sequencer: use scene.sequence_editor_create() and its strips",
    "object.bake": "baking blocks Blender: ask the user to bake",
    "object.quick_smoke": "it makes a domain that writes caches: add the modifiers by hand",
    "object.quick_liquid": "it makes a domain that writes caches: add the modifiers by hand",
}


def _by_word(name: str) -> str:
    for word, reason in (
        ("bake", "baking blocks Blender and writes caches: ask the user to bake"),
        ("import", "imports go through the bridge's asset tools"),
        ("export", "a script may not write files"),
        ("preset", "presets are files in the user's folder"),
        ("copy", "it uses the clipboard: use .copy() on the data-block"),
        ("paste", "it uses the clipboard: assign the values instead"),
    ):
        if word in name:
            return reason
    return "it is not on the list of reviewed operators"


def _table(file: str) -> Mapping[str, frozenset[str]]:
    text = (_LISTS / f"{file}.json").read_text(encoding="utf-8")
    return MappingProxyType({key: frozenset(names.split()) for key, names in json.loads(text).items()})


@cache
def policy(level: Level) -> Policy:
    """The policy of a level."""
    if level == "arithmetic":
        return Policy(level, frozenset())
    if level == "math":
        return Policy(level, _MATH_IMPORTS)
    operators = frozenset(
        f"{module}.{name}" for module, names in _table("operators").items() for name in names
    )
    read, write, call = _table("properties_read"), _table("properties_write"), _table("functions")
    return Policy(level, _BLENDER_IMPORTS, operators=operators, _read=read, _write=write, _call=call)
