# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights of vertices and of a lattice's points: looked up at each use, wherever Blender has put them meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from support import fork
from support.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_CUBE = "o = bpy.context.object\nv = o.data.vertices[0]\n"
_LATTICE = (
    "l = bpy.data.lattices.new('l')\no = bpy.data.objects.new('l', l)\n"
    "bpy.context.collection.objects.link(o)\nv = l.points[0]\n"
)
#: So many that what is freed of them is overwritten: the C library keeps the few bytes of a few as they are.
_WEIGHTS = (
    "a, b, c, *more = (o.vertex_groups.new(name=n) for n in 'abc' + 'd' * 200)\na.add(range(8), .25, 'REPLACE')\n"
    "b.add(range(8), .5, 'REPLACE')\nfor each in more: each.add(range(8), 1, 'REPLACE')\n"
    "def said(of):\n"
    "    try:\n        return [of.group, of.weight]\n"
    "    except ReferenceError as error:\n        return str(error)\n"
)
_GONE = "StructRNA of type VertexGroupElement has been removed"


def _overwriting(code: str) -> Any:
    def run() -> Any:
        fork.overwrite_freed()
        return result(code)

    return fork.run(run)


@pytest.mark.parametrize("setup", [_CUBE, _LATTICE], ids=["mesh", "lattice"])
@pytest.mark.parametrize(
    ("change", "now"),
    [
        ("c.add([0], 1, 'REPLACE')", [1, 0.5]),
        ("a.remove([0])", [1, 0.5]),
        ("b.remove([0])", _GONE),
        ("b.remove([0])\nb.add([0], .75, 'REPLACE')", [1, 0.75]),
        ("o.vertex_groups.remove(c)", [1, 0.5]),
        ("o.vertex_groups.remove(b)", _GONE),
        ("o.vertex_groups.clear()", _GONE),
        ("bpy.context.view_layer.objects.active = o\nbpy.ops.object.vertex_group_remove(all=True)", _GONE),
        ("d = o.data.copy()\nc.add([0], 1, 'REPLACE')\ngetattr(bpy.data, D).remove(d)", [1, 0.5]),
    ],
)
def test_a_weight_is_that_of_its_group_or_gone(setup: str, change: str, now: Any) -> None:
    kind = "meshes" if setup is _CUBE else "lattices"
    said = _overwriting(f"{setup}{_WEIGHTS}D = {kind!r}\nx = v.groups[1]\n{change}\nresult = said(x)")
    assert said == now
