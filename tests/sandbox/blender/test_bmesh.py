# SPDX-License-Identifier: GPL-3.0-or-later
"""All operators of bmesh.ops with counts that are too small or too large, and without any of their arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import bmesh
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, NeedsRehearsal, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.facts.members import names
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_CRASHING = names("bmesh operators that crash")
_OPERATORS = sorted({name for name in dir(bmesh.ops) if not name.startswith("_")} - _CRASHING)
#: What an argument gets, by how Blender writes its default.
_GIVEN: dict[str, tuple[str, ...]] = {
    "integer": ("-5", "-1", "0", "1", "7", "2**31 - 1"),
    "number": ("-1.0", "0.0", "1e30"),
    "list": ("bm.verts[:]", "bm.edges[:]", "bm.faces[:]", "[*bm.verts, *bm.edges, *bm.faces]", "[]"),
}


def _arguments(name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The arguments of an operator, each with what to give it."""
    text = getattr(bmesh.ops, name).__doc__
    for argument, default in re.findall(r"\b(\w+)=(\[\]|-?\d+\.\d+|-?\d+(?=[,)]))", text):
        yield argument, _GIVEN["list" if default == "[]" else "number" if "." in default else "integer"]


def _cases(name: str) -> list[str]:
    """Calls of an operator, with each value of each argument: alone without geometry, and beside others with a cube."""
    given = dict(_arguments(name))
    lists = [argument for argument, values in given.items() if values is _GIVEN["list"]]
    usual = {
        argument: f"bm.{argument}[:]" if argument in ("verts", "edges", "faces") else _GIVEN["list"][3]
        for argument in lists
    }
    cases = {("pass", ""): None}
    for start, beside in (("pass", {}), ("bmesh.ops.create_cube(bm, size=1)", usual)):
        for argument, value in ((argument, value) for argument, values in given.items() for value in values):
            arguments = {**beside, argument: value}.items()
            cases[start, ", ".join(f"{key}={each}" for key, each in arguments)] = None
    return [
        f"import bmesh\nbm = bmesh.new()\n{start}\nbmesh.ops.{name}(bm, {arguments})\n"
        "mesh = bpy.data.meshes.new('a')\nbm.to_mesh(mesh)\nresult = mesh.validate()"
        for start, arguments in cases
    ]


def _call(code: str) -> str:
    fork.overwrite_freed()
    execute._rate.clear()
    try:
        return str(result(code))
    except (HandlerError, PolicyError, NeedsRehearsal) as error:
        return str(error)


@pytest.mark.parametrize("name", _OPERATORS)
def test_no_operator_crashes_of_its_arguments(name: str) -> None:
    cases = _cases(name)
    answers = fork.run_each(_call, cases, timeout=20)
    bad = [case for case, answer in zip(cases, answers, strict=True) if isinstance(answer, Exception)]
    assert bad == []


@pytest.mark.parametrize("name", sorted(_CRASHING & set(dir(bmesh.ops))))
def test_what_crashes_is_refused(name: str) -> None:
    with pytest.raises(
        PolicyError, match=rf"bmesh\.ops\.{name}\(\) crashes Blender: use bm\.to_mesh\(mesh\)"
    ):
        result(f"import bmesh\nbmesh.ops.{name}(bmesh.new())")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("create_cone(bm, segments=-5)", r"create_cone\(\): segments is -5, but has to be from 0 to 100,000"),
        ("create_uvsphere(bm, u_segments=0, v_segments=3)", r"u_segments is 0, but has to be from 1 to 100,000"),
        ("create_uvsphere(bm, u_segments=3)", r"create_uvsphere\(\) needs the argument v_segments"),
        ("pointmerge_facedata(bm)", r"pointmerge_facedata\(\) needs the argument vert_snap"),
        ("spin(bm, steps=10_001)", r"steps is 10,001, but has to be from 0 to 10,000"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong(call: str, why: str) -> None:
    with pytest.raises(HandlerError, match=why):
        result(f"import bmesh\nbm = bmesh.new()\nbmesh.ops.{call}")


def test_usual_counts_pass() -> None:
    assert result("""
import bmesh
bm = bmesh.new()
bmesh.ops.create_cone(bm, cap_ends=True, segments=12, radius1=1, radius2=0, depth=2)
bmesh.ops.create_uvsphere(bm, u_segments=8, v_segments=4, radius=1)
bmesh.ops.subdivide_edges(bm, edges=bm.edges[:], cuts=1, seed=2**31 - 1)
bmesh.ops.holes_fill(bm, edges=bm.edges[:], sides=4)
bmesh.ops.edgeloop_fill(bm, edges=bm.edges[:], mat_nr=-1)
result = len(bm.verts) > 40
""")
