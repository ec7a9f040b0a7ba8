# SPDX-License-Identifier: GPL-3.0-or-later
"""The index of this Blender, and inspect_tool."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.reference import rna


@pytest.fixture(scope="module")
def index() -> rna.RnaIndex:
    return rna.build()


def test_index_is_plain_data(index: rna.RnaIndex) -> None:
    again = pickle.loads(pickle.dumps(index))
    assert again.operators.keys() == index.operators.keys()
    assert again.structs["Object"].properties["location"].length == 3


def test_lineage_and_members(index: rna.RnaIndex) -> None:
    assert [s.name for s in index.lineage("SubsurfModifier")] == ["SubsurfModifier", "Modifier"]
    assert index.has_member("SubsurfModifier", "name")
    assert "levels" in index.members_below("Modifier")
    assert index.property("Object", "name").type == "STRING"
    assert index.function("Object", "select_set") is not None


def test_cycles_settings_are_there(index: rna.RnaIndex) -> None:
    assert "samples" in index.structs["CyclesRenderSettings"].properties


@pytest.mark.parametrize(
    ("written", "idname"),
    [
        ("bpy.ops.mesh.primitive_cube_add()", "mesh.primitive_cube_add"),
        ("MESH_OT_primitive_cube_add", "mesh.primitive_cube_add"),
        ("bpy.ops.Mesh.primitive_cube_add", "mesh.primitive_cube_add"),
        ("nonsense", "nonsense"),
    ],
)
def test_names_of_operators(written: str, idname: str) -> None:
    assert rna.normalize_operator(written) == idname


def test_inspect_operator(index: rna.RnaIndex) -> None:
    shown = rna.inspect("bpy.ops.mesh.primitive_cube_add", index, policy("blender"))
    assert shown["kind"] == "operator"
    assert shown["allowed"] is True
    size = next(p for p in shown["parameters"] if p["name"] == "size")
    assert size["type"] == "float"
    assert size["default"] == 2.0
    align = next(p for p in shown["parameters"] if p["name"] == "align")
    assert align["items"] == ["WORLD", "VIEW", "CURSOR"]


def test_inspect_says_why_an_operator_is_refused(index: rna.RnaIndex) -> None:
    shown = rna.inspect("wm.save_as_mainfile", index, policy("blender"))
    assert shown["allowed"] is False
    assert "files" in shown["reason"]


def test_inspect_type_and_member(index: rna.RnaIndex) -> None:
    shown = rna.inspect("bpy.types.Object", index, policy("blender"))
    location = next(p for p in shown["properties"] if p["name"] == "location")
    assert location["writable"] is True
    assert location["length"] == 3
    member = rna.inspect("Object.location", index)
    assert member["name"] == "bpy.types.Object.location"
    text = rna.inspect("Text.use_module", index, policy("blender"))
    assert text["allowed"] is True
    assert text["writable"] is False


def test_did_you_mean(index: rna.RnaIndex) -> None:
    def near(name: str) -> Any:
        with pytest.raises(rna.UnknownName, match="has no") as caught:
            rna.inspect(name, index)
        return caught.value.facts["did_you_mean"]

    assert "bpy.ops.mesh.primitive_cube_add" in near("mesh.primitive_cube_ad")
    assert near("Object.locaton")[0] == "bpy.types.Object.location"
    assert near("bpy.ops.nonexistent") == []
