# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops over the elements of a BMesh go through what plain Blender goes through, whatever changes meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_START = (
    "import bpy, bmesh\nb = bmesh.new()\nbmesh.ops.create_grid(b, x_segments=7, y_segments=6, size=2)\n"
    "seen = []\ndef at(e):\n    corners = getattr(e, 'verts', [e])\n"
    "    return [round(sum(v.co[i] for v in corners), 3) for i in range(3)]\n"
)
_END = "\nresult = [seen, len(b.verts), len(b.edges), len(b.faces)]\n"
#: Loops in which plain Blender, whose memory is overwritten as it is freed, crashes nowhere.
_LOOPS = {
    "merge": "    u, v = getattr(e, 'verts', [e, b.verts[:][7]])[:2]\n    if len(seen) % 3 == 0 and u != v:\n"
    "        bmesh.ops.pointmerge(b, verts=[u, v], merge_co=(u.co + v.co) / 2)",
    "remove-now-and-then": "    if len(seen) % 2: bmesh.ops.delete(b, geom=[e], context=CONTEXT)",
    "remove-others": "    if len(seen) % 4 == 1: bmesh.ops.delete(b, geom=b.SEQ[-3:], context=CONTEXT)",
    "remove-by-itself": "    if len(seen) % 5 == 1: b.SEQ.remove(e)",
    "split": "    if len(seen) == 3: bmesh.ops.subdivide_edges(b, edges=b.edges[:4], cuts=1)",
    "poke": "    if len(seen) == 5: bmesh.ops.poke(b, faces=b.faces[2:4])",
    "dissolve": "    if len(seen) == 2: bmesh.ops.dissolve_edges(b, edges=b.edges[5:9])",
    "collapse": "    if len(seen) in (2, 9): bmesh.ops.collapse(b, edges=b.edges[5:7])",
    "weld": "    if len(seen) == 4: bmesh.ops.remove_doubles(b, verts=b.verts, dist=1.0)",
    "inset": "    if len(seen) == 4: bmesh.ops.inset_individual(b, faces=b.faces[3:5], thickness=0.1)",
    "extrude": "    if len(seen) == 4: bmesh.ops.extrude_discrete_faces(b, faces=b.faces[3:5])",
    "split-one": "    if len(seen) == 4 and hasattr(e, 'other_vert'): bmesh.utils.edge_split(e, e.verts[0], 0.5)",
    "delete-and-make": "    if len(seen) == 6:\n        bmesh.ops.delete(b, geom=b.faces[4:6], context='FACES_ONLY')\n"
    "        bmesh.ops.create_circle(b, cap_ends=True, segments=5, radius=9)",
    "all-but-some": "    if len(seen) == 3: bmesh.ops.delete(b, geom=b.verts[2:-2], context='VERTS')",
}
_CONTEXTS = {"verts": "VERTS", "edges": "EDGES", "faces": "FACES_ONLY"}
_FORMS = {
    "for": "for e in b.SEQ:\n    seen.append(at(e))\nBODY",
    "enumerate": "for i, e in enumerate(b.SEQ):\n    seen.append(at(e))\nBODY",
    "iter": "it = iter(b.SEQ)\nwhile (e := next(it, None)) is not None:\n    seen.append(at(e))\nBODY",
    "function": "def draw():\n    yield from b.SEQ\nfor e in draw():\n    seen.append(at(e))\nBODY",
}


def _code(form: str, loop: str, sequence: str) -> str:
    body = _FORMS[form].replace("BODY", _LOOPS[loop])
    return _START + body.replace("SEQ", sequence).replace("CONTEXT", repr(_CONTEXTS[sequence])) + _END


def _plain(code: str) -> Any:
    fork.overwrite_freed()
    names: dict[str, Any] = {}
    exec(code, names)
    return names["result"]


@pytest.mark.parametrize("sequence", _CONTEXTS)
@pytest.mark.parametrize("loop", _LOOPS)
def test_a_loop_goes_through_what_plain_blender_goes_through(loop: str, sequence: str) -> None:
    code = _code("for", loop, sequence)
    assert result(code) == fork.run(_plain, code)


@pytest.mark.parametrize("form", _FORMS)
def test_every_form_of_a_loop_does(form: str) -> None:
    code = _code(form, "merge", "edges")
    assert result(code) == fork.run(_plain, code)


def test_loops_within_loops_are_kept_apart() -> None:
    code = (
        _START
        + (
            "for e in b.edges:\n    for v in b.verts:\n        seen.append([at(e), at(v)])\n"
            "        if len(seen) % 50 == 7: bmesh.ops.delete(b, geom=[b.verts[:][4]], context='VERTS')\n"
            "        if not e.is_valid: break\n"
        )
        + _END
    )
    assert result(code) == fork.run(_plain, code)


def test_a_loop_whose_mesh_is_freed_says_so() -> None:
    with pytest.raises(HandlerError, match="has been removed"):
        result(_START + "for e in b.verts:\n    b.free()\n    e.co\n")


def test_a_loop_ends_with_the_last_element() -> None:
    assert result(_START + "for e in b.faces:\n    b.clear()\n    seen.append(1)\nresult = seen") == [1]


def test_many_loops_leave_nothing_behind() -> None:
    """Only those that may still go on are looked after."""
    assert (
        result(
            _START + "for _ in range(300):\n    for v in b.verts: break\n    for v in b.verts: pass\n"
            "b.verts.remove(b.verts[:][0])\nresult = len(b.verts)"
        )
        == 8 * 7 - 1
    )
