# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides by its type which value that a script may hold is a reference to what Blender may free."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from typing import Any

import bmesh
import bpy
import mathutils

from ...base.identity import identity
from ...base.per_type import PerType, is_static
from ..guard.audit import may_raise
from . import sharing
from .bmesh.removals import OF_MESH
from .existing import root_of
from .held import UNTRACKED
from .layout import IS_PART

__all__ = (
    "ANY",
    "ANY_OR_INSIDE",
    "BLENDERS",
    "LENT",
    "LOOSE",
    "PARTS_OF_MESH",
    "REFERENCES",
    "ROOTED",
    "ROOTS",
    "SHARED_ROOT",
    "STRUCT",
    "VECTORS",
    "in_generator",
    "is_blank",
    "is_loose",
    "references",
)

VECTORS = (mathutils.Vector, mathutils.Euler, mathutils.Quaternion, mathutils.Matrix, mathutils.Color)

_LAYER_DATA = frozenset({"BMLoopUV", "BMDeformVert", "BMVertSkin"})
STRUCT = bpy.types.bpy_struct
_OF_ADDONS = bpy.types.PropertyGroup
_MESH = bpy.types.Mesh
REFERENCES = (STRUCT, bpy.types.bpy_prop, bpy.types.bpy_func)


def is_blank(owner: Any) -> bool:
    """Return whether this is a mesh with nothing in it that a reference could point to."""
    return type(owner) is _MESH and not any(
        len(getattr(owner, name, ()))
        for name in ("vertices", "edges", "polygons", "loops", "attributes", "skin_vertices")
    )


class _Roots(dict[type, str | None]):
    """The root of each type of Blender's."""

    def __missing__(self, kind: type) -> str | None:
        root = self[kind] = root_of(kind)
        return root


ROOTS = _Roots()


def _shared_root(kind: type) -> str:
    root = ROOTS[kind] if issubclass(kind, STRUCT) else None
    return root if root in sharing.ROOTS else ""


def _is_rooted(kind: type) -> bool:
    """Return whether values of this type are, or know, references to what Blender may free."""
    if issubclass(kind, STRUCT):
        return ROOTS[kind] is not None or issubclass(kind, _OF_ADDONS)
    return kind in VECTORS or issubclass(kind, REFERENCES) or IS_PART[kind]


ROOTED = PerType(_is_rooted, STRUCT)
#: The root of items of arrays that may be shared with copies, or "".
SHARED_ROOT = PerType(_shared_root, STRUCT)
BLENDERS = PerType(lambda kind: kind in VECTORS or issubclass(kind, REFERENCES), STRUCT)
LOOSE = PerType(lambda kind: kind in VECTORS or kind in OF_MESH or _is_layer_data(kind), STRUCT)
PARTS_OF_MESH = PerType(lambda kind: kind in OF_MESH, STRUCT)
LENT = PerType(lambda kind: kind in (mathutils.Vector, bmesh.types.BMesh) or _is_layer_data(kind), STRUCT)
_OF_ANY = (ROOTED, BLENDERS, LENT, LOOSE, PARTS_OF_MESH, IS_PART)
# These ask the tests themselves: each look-up in another `PerType` would store the new type there, too.
ANY = PerType(lambda kind: any(wanted.test(kind) for wanted in _OF_ANY), STRUCT)
"""What any of the searches for what a script holds looks for."""
ANY_OR_INSIDE = PerType(lambda kind: kind in UNTRACKED or ANY.test(kind), STRUCT)
"""That, and what may hold it without the collector's knowledge."""


def references(held: Iterable[Any]) -> list[Any]:
    """Return the references to structs, collections, arrays and functions in `held`, and the owners of its vectors."""
    owners = {identity(v): v for v in (v.owner if type(v) in VECTORS else v for v in held)}
    return [each for each in owners.values() if isinstance(each, REFERENCES)]


@may_raise("sys._getframe", "object.__getattr__")
def in_generator() -> bool:
    """Return whether a generator of the script's is running: C code of Blender's may be reading from it."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_flags & inspect.CO_GENERATOR and frame.f_code.co_filename == "<script>":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _is_layer_data(kind: type) -> bool:
    return kind.__name__ in _LAYER_DATA and is_static(kind)


def is_loose(value: Any) -> bool:
    """Return whether this value points into memory whose owner it does not know."""
    if _is_layer_data(type(value)):
        return True
    owner = value.owner
    return type(owner).__name__ == "PyCapsule" or (
        owner is None and value.is_wrapped
    )  # a capsule: a byte colour
