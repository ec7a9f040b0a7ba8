# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference of the running Blender's Python."""

from __future__ import annotations

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.reference import api_docs, rna


def _docs(name: str) -> str:
    return api_docs.docs(name, rna.current(), policy("blender"))


def test_an_operator_says_what_its_values_mean() -> None:
    text = _docs("bpy.ops.mesh.bevel")
    assert text.startswith("operator bpy.ops.mesh.bevel(")
    assert "      PERCENT: " in text
    assert "Not for scripts" not in text


def test_a_refused_operator_says_why() -> None:
    assert "Not for scripts: a script may not write files: use the tool save_file" in _docs(
        "bpy.ops.wm.save_as_mainfile"
    )


def test_a_type_marks_what_scripts_may_do_with_its_members() -> None:
    lines = _docs("bpy.types.Object").splitlines()
    assert any(line.startswith("+ location: float[3]") for line in lines)
    assert any(line.startswith("- type: enum") for line in lines)
    assert any(line.startswith("+ select_set(state") for line in lines)
    assert "type bpy.types.Object (ID" in lines[0]


def test_members_and_docstrings() -> None:
    assert "A script may read and write it." in _docs("Object.rotation_mode")
    assert "-> boolean" in _docs("bpy.types.Object.ray_cast").splitlines()[0]
    assert "interpolation" in _docs("mathutils.Vector.lerp")
    assert "  bmesh.ops.bevel" in _docs("bmesh.ops").splitlines()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bpy.ops.mesh.bevl", "Did you mean 'bpy.ops.mesh.bevel'"),
        ("bpy.types.Objct", "Did you mean 'bpy.types.Object'"),
        ("Object.locaton", "bpy.types.Object has no member 'locaton'. Did you mean 'location'"),
        ("mathutils.Vectr", "Did you mean 'mathutils.Vector'"),
        ("os.system", "has nothing named 'os.system'"),
        ("bpy.utils.__loader__", "has nothing named"),
    ],
)
def test_unknown_names(name: str, says: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        _docs(name)
    assert says in str(caught.value)


def test_every_operator_and_type_can_be_told() -> None:
    index, rules = rna.current(), policy("blender")
    for name in [f"bpy.ops.{o}" for o in index.operators][::7] + list(index.structs)[::7]:
        assert api_docs.docs(name, index, rules)


def test_operators_by_prefix() -> None:
    found = api_docs.operators(rna.current(), "mesh.primitive_", policy("blender"))
    assert {"name": "bpy.ops.mesh.primitive_cube_add", "label": "Add Cube", "allowed": True} in [
        {**o, "label": "Add Cube"} if o["name"].endswith("cube_add") else o for o in found
    ]
    assert len(api_docs.operators(rna.current(), "", policy("blender"))) == sum(
        len(dir(getattr(bpy.ops, module))) for module in dir(bpy.ops)
    )
    with pytest.raises(InvalidParamsError, match=r"no operator begins with 'mseh\.'.*The modules are action"):
        api_docs.operators(rna.current(), "mseh.", policy("blender"))
