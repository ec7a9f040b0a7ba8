# SPDX-License-Identifier: GPL-3.0-or-later
"""The policies as data: the levels, their imports, and the allow-lists of Blender.

A level is a `Policy`. Everything else in the sandbox asks a policy and never compares level names. A policy refuses
what the allow-lists do not name, so what a new Blender brings is refused until a person has reviewed it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from .reasons import instead_of, why_operator

__all__ = ("LEVELS", "Level", "Policy", "policy")

Level = Literal["arithmetic", "math", "blender"]

#: The levels from the strictest to the freest: a call may ask for less than the settings say, never for more.
LEVELS: Final[tuple[Level, ...]] = ("arithmetic", "math", "blender")

_LISTS = Path(__file__).parent / "allowlists"

_MATH_IMPORTS = frozenset(
    """
    math cmath random colorsys itertools functools collections collections.abc dataclasses enum json
    statistics string textwrap datetime time typing types operator array copy fractions decimal
    numbers bisect heapq re abc contextlib uuid hashlib pprint warnings traceback __future__
    io os os.path pathlib sys argparse logging base64 unicodedata struct shutil tempfile platform
    """.split()
)
_BLENDER_IMPORTS = _MATH_IMPORTS | frozenset(
    """
    addon_utils bpy bpy.data bpy.context bpy.ops bpy.types bpy.app bpy.path bpy.props bpy.utils bpy.utils.units bmesh
    bmesh.ops bmesh.types bmesh.utils bmesh.geometry mathutils mathutils.bvhtree mathutils.geometry
    mathutils.interpolate mathutils.kdtree mathutils.noise bpy_extras bpy_extras.object_utils
    bpy_extras.mesh_utils bpy_extras.view3d_utils bpy_extras.anim_utils bpy_extras.node_utils
    bpy_extras.io_utils bpy_extras.bmesh_utils numpy
    """.split()
)


@dataclass(frozen=True)
class Policy:
    """What one level allows. The struct that adds a member lists it: ask for each struct of the lineage."""

    level: Level
    imports: frozenset[str]
    #: The most vertices (or curve points, or particles) that one step may make in Blender.
    geometry: int = 2_000_000
    #: Idnames of operators, such as `mesh.primitive_cube_add`.
    operators: frozenset[str] = frozenset()
    _read: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    _write: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    _call: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)

    @property
    def has_blender(self) -> bool:
        """Whether a script of this level sees `bpy`."""
        return "bpy" in self.imports

    def readable(self, struct: str) -> frozenset[str]:
        """Return the readable properties of `struct` itself, without those of its bases."""
        return self._read.get(struct, frozenset())

    def writable(self, struct: str) -> frozenset[str]:
        """Return the writable properties of `struct` itself, without those of its bases."""
        return self._write.get(struct, frozenset())

    def callable(self, struct: str) -> frozenset[str]:
        """Return the callable functions of `struct` itself, without those of its bases."""
        return self._call.get(struct, frozenset())

    def gives_operator(self, idname: str) -> bool:
        """Return whether a script may call `bpy.ops.<idname>`: Blender's own operator, or our substitute."""
        return idname in self.operators or (self.has_blender and idname in instead_of())

    def gives_function(self, struct: str, name: str) -> bool:
        """Return whether a script may call this function of the struct itself: Blender's own, or our substitute."""
        return name in self.callable(struct) or (
            self.has_blender and f"{struct}.{name}" in _REPLACED_FUNCTIONS
        )

    def why_operator(self, idname: str) -> str:
        """Return why an operator that is not listed is refused, and what to do instead."""
        return why_operator(idname)


_REPLACED_FUNCTIONS: Final = frozenset(
    {"BlendData.batch_remove", "BlendData.orphans_purge", "Context.copy", "Context.temp_override"}
    | {"Context.preferences", "ID.user_clear", "Preferences.addons"}
)
"""Members that we replace for scripts: the substitute does, or shows, a part of what Blender's own does."""


def _table(file: str) -> Mapping[str, frozenset[str]]:
    text = (_LISTS / f"{file}.json").read_text(encoding="utf-8")
    return MappingProxyType({key: frozenset(names.split()) for key, names in json.loads(text).items()})


@cache
def policy(level: Level) -> Policy:
    """Return the policy of a level."""
    if level == "arithmetic":
        return Policy(level, frozenset())
    if level == "math":
        return Policy(level, _MATH_IMPORTS)
    operators = frozenset(
        f"{module}.{name}" for module, names in _table("operators").items() for name in names
    )
    read, write, call = _table("properties_read"), _table("properties_write"), _table("functions")
    return Policy(level, _BLENDER_IMPORTS, operators=operators, _read=read, _write=write, _call=call)
