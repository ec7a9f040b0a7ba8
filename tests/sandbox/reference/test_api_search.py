# SPDX-License-Identifier: GPL-3.0-or-later
"""Search in Blender's Python."""

from __future__ import annotations

import time

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.reference import api_docs, rna
from bl_ext.user_default.mcp_bridge.sandbox.reference.api_search import SearchIndex


@pytest.fixture(scope="module")
def finder() -> SearchIndex:
    return SearchIndex(rna.current(), api_docs.docstrings())


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("bevel edges", "bpy.ops.mesh.bevel"),
        ("mesh.bevel", "bpy.ops.mesh.bevel"),
        ("bpy.types.Object.location", "bpy.types.Object.location"),
        ("add cubes", "bpy.ops.mesh.primitive_cube_add"),
        ("bevle", "bpy.ops.mesh.bevel"),
        ("keyframe insert", "bpy.ops.anim.keyframe_insert"),
        ("set parent", "bpy.ops.object.parent_set"),
        ("vector lerp", "mathutils.Vector.lerp"),
        ("ColorRamp", "bpy.types.ColorRamp"),
    ],
)
def test_what_is_meant_comes_first(finder: SearchIndex, query: str, first: str) -> None:
    assert finder.search(query)[0].name == first


def test_an_enum_value_is_found_where_it_is_used(finder: SearchIndex) -> None:
    assert "bpy.types.Object.rotation_mode" in [
        e.name for e in finder.search("rotation AXIS_ANGLE", limit=30)
    ]


def test_kinds_are_a_filter(finder: SearchIndex) -> None:
    found = finder.search("bevel", kinds=["type"], limit=30)
    assert found
    assert {e.kind for e in found} == {"type"}


@pytest.mark.parametrize("query", ["", "   ", "the of", "qzxjw", "★", "x" * 200, "a_" * 100])
def test_what_says_nothing_finds_nothing_and_breaks_nothing(finder: SearchIndex, query: str) -> None:
    assert finder.search(query, limit=50) == []


def test_a_search_is_quick(finder: SearchIndex) -> None:
    begin = time.perf_counter()
    for _ in range(5):
        finder.search(
            "set the location of all selected object mesh modifier nodes color value type", limit=50
        )
    assert (time.perf_counter() - begin) / 5 < 0.2  # usually below 0.01
