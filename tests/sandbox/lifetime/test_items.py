# SPDX-License-Identifier: GPL-3.0-or-later
"""Walks over all collections that a script may read, of empty data-blocks, too, and over all arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import bpy
from bl_ext.user_default.mcp_bridge.sandbox.facts.members import names
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import existing, sharing

from support.running import fork
from support.sandboxing import sandbox_cases
from support.scenes import references

_SCENES = "grease_pencil_or_annotation light_types nla_strip particles_grass product_shot rig_arm_ik".split()
#: What `new` of the collections of `bpy.data` takes after the name.
_ARGUMENTS = (
    (),
    (None,),
    (8, 8),
    ("MESH",),
    ("POINT",),
    ("CURVE",),
    ("CLOUDS",),
    ("SOLID",),
    ("GeometryNodeTree",),
)


def _fill() -> None:
    """Make an empty data-block of each kind, an empty drawing, and some scenes."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    for scene in _SCENES:
        with contextlib.suppress(AttributeError):  # another version's name
            sandbox_cases.plain(next(case.code for case in sandbox_cases.honest() if case.id == scene), {})
    for prop in bpy.data.bl_rna.properties:
        new = getattr(getattr(bpy.data, prop.identifier), "new", None)
        for arguments in _ARGUMENTS if new else ():
            with contextlib.suppress(TypeError):  # it takes others
                new("empty", *arguments)
    pencils: Any = getattr(bpy.data, "grease_pencils_v3", bpy.data.grease_pencils)
    pencils["empty"].layers.new("empty").frames.new(1)


def _collections() -> Iterator[tuple[str, Any]]:
    """Every collection that a script may read, of all that it may reach without another data-block."""
    seen: set[Any] = set()
    waiting: list[Any] = [*bpy.data.user_map()]
    while waiting:
        value = waiting.pop()
        if not isinstance(value, bpy.types.bpy_struct) or (value, type(value)) in seen:
            continue
        seen.add((value, type(value)))
        for name in references.names().get(value.bl_rna.identifier, ()):
            kind = value.bl_rna.properties[name].type
            if kind not in ("POINTER", "COLLECTION"):
                continue
            found: Any = getattr(value, name)
            if kind == "COLLECTION":
                yield f"{value.bl_rna.identifier}.{name}", found
                waiting += found.values()[:50]
            else:
                waiting.append(found)


def _walk() -> tuple[set[str], set[str]]:
    """The collections, and those of which an item by its number is another than the loop's, or is nowhere."""
    _fill()
    found, wrong = set(), set()
    for path, collection in _collections():
        found.add(path)
        items = collection.values()
        places = {0, len(collection) // 2, len(collection) - 1} if len(collection) else set()
        if len(items) != len(collection) or any(collection[i] != items[i] for i in places):
            wrong.add(path)
    return found, wrong


def test_a_collection_has_the_items_that_it_counts() -> None:
    """Blender gives the number of items and each of them by functions of its own, which may disagree."""
    references.names()
    found, wrong = fork.run(_walk)
    assert len(found) > 120
    assert {"Curves.curves", "Mesh.vertices", "Object.modifiers"} <= found
    assert wrong == set()


_LAYERS = {"Attribute", "MeshLoopColorLayer", "MeshUVLoopLayer"}


def _of_shared_arrays() -> dict[str, str]:
    """The structs in each array that copies share, except the values of layers, and what the arrays' items have."""
    found = {}
    for name in dir(bpy.types):
        kind = getattr(bpy.types, name)
        if getattr(kind, "bl_rna", None) is None or existing.root_of(kind) in sharing.ROOTS | _LAYERS:
            continue
        for prop in kind.bl_rna.properties:
            readable = prop.identifier in policy("blender").readable(name)
            if readable and prop.type == "COLLECTION" and prop.fixed_type.identifier in sharing.ROOTS:
                found[f"{name}.{prop.identifier}"] = prop.fixed_type.identifier
    return found


def test_every_array_that_copies_share_is_known() -> None:
    found = _of_shared_arrays()
    assert {"Curves.points", "Mesh.vertices", "PointCloud.points"} <= found.keys()
    assert found.keys() - names("properties in shared arrays") == set()


def test_no_array_has_numbers_by_which_blender_finds_items() -> None:
    """Blender believes what a script writes there: the only arrays of whole numbers are those of layers."""
    found = _of_shared_arrays()
    assert [path for path in found if "Int" in found[path] or "Short" in found[path]] == []
