# SPDX-License-Identifier: GPL-3.0-or-later
"""What points into a BMesh's memory is cut loose when that memory goes, and stays as it is otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.guarded_bpy import bmesh_layers

from support.scripts import result

_GRID = (
    "import bmesh\nb = bmesh.new()\nbmesh.ops.create_grid(b, x_segments=30, y_segments=30, size=2)\n"
    "uv = b.loops.layers.uv.new('u')\nd = b.verts.layers.deform.new('d')\nc = b.loops.layers.color.new('c')\n"
    "f = b.verts.layers.float_vector.new('f')\n"
    "v = b.verts[:][0]\nl = b.faces[:][0].loops[1]\nv[d][1] = 0.5\nl[uv].uv = 0.25, 0.5\nv[f] = 1, 2, 3\n"
    "l[c] = 1, 0, 1, 1\nx = [v.co, v[f], l[uv].uv, l[c], l[uv], v[d]]\n"
)
_SHOWN = "result = [[list(each) for each in x[:4]], list(x[4].uv), x[5].items()]"
#: Vectors keep their numbers; layer data that went is nothing.
_LOOSE: list[Any] = [[[-2.0, -2.0, 0.0], [1.0, 2.0, 3.0], [0.25, 0.5], [0.0] * 4], [0.0, 0.0], []]


pytestmark = pytest.mark.usefixtures("fresh_file")


def test_the_places_of_pointers_are_found() -> None:
    bmesh_layers._places.cache_clear()
    places = {kind.__name__: at for kind, at in bmesh_layers._places().items()}
    assert set(places) == {"Vector", "BMDeformVert", "BMVertSkin", "BMLoopUV", "PyCapsule"}
    assert all(places.values())


@pytest.mark.parametrize(
    "moves",
    [
        "b.verts.layers.int.new('i')\nb.loops.layers.int.new('i')",
        "b.verts.layers.int.verify()\nb.loops.layers.int.verify()",
        "b.verts.layers.deform.remove(d)\nb.loops.layers.uv.remove(uv)",
        "b.clear()",
        "bmesh.ops.delete(b, geom=b.verts[:], context='VERTS')",
    ],
)
def test_what_points_nowhere_is_cut_loose(moves: str) -> None:
    assert result(f"{_GRID}{moves}\n{_SHOWN}") == _LOOSE


def test_what_was_cut_loose_is_written_without_harm() -> None:
    assert result(
        f"{_GRID}b.verts.layers.int.new('i')\nb.loops.layers.int.new('i')\n"
        "x[0].x, x[1].y, x[2].x, x[4].uv, x[5][7] = 8, 9, 7, (3, 4), 1.0\nx[3].x = 1\n"
        "v, l = b.verts[:][0], b.faces[:][0].loops[1]\n"
        "result = [v.co.x, x[1].y, x[2].x, x[4].uv[:], x[5].items(), list(l[uv].uv), list(l[c]), v[d].items()]"
    ) == [8.0, 9.0, 7.0, [3.0, 4.0], [[7, 1.0]], [0.25, 0.5], [1.0, 0.0, 1.0, 1.0], [[1, 0.5]]]


def test_what_stays_where_it_is_stays_as_it_is() -> None:
    """Operators that move no layers, and layers of other elements."""
    assert result(
        f"{_GRID}bmesh.ops.translate(b, verts=b.verts[:], vec=(1, 0, 0))\nb.faces.layers.int.new('i')\n"
        "x[0].y, x[2].x, x[3].y, x[4].uv.y, x[5][2] = 5, 0.75, 1, 0.125, 1.0\n"
        "v, l = b.verts[:][0], b.faces[:][0].loops[1]\n"
        "result = [list(v.co), list(l[uv].uv), list(l[c]), v[d].items()]"
    ) == [[-1.0, 5.0, 0.0], [0.75, 0.125], [1.0, 1.0, 1.0, 1.0], [[1, 0.5], [2, 1.0]]]


@pytest.mark.parametrize(
    "leave",
    [
        "bpy.ops.object.mode_set(mode='OBJECT')",
        "bpy.ops.mesh.delete(type='VERT')",
        "bpy.data.objects.remove(o)",
    ],
)
def test_coordinates_of_edit_mode_are_kept(leave: str) -> None:
    assert result(
        "import bmesh\no = bpy.context.object\nbpy.ops.object.mode_set(mode='EDIT')\n"
        f"x = [v.co for v in bmesh.from_edit_mesh(o.data).verts]\n{leave}\nresult = list(x[0])"
    ) == [1.0, 1.0, 1.0]


def test_a_mesh_whose_byte_colour_is_held_lives_on() -> None:
    assert result(f"{_GRID}b.free()\nresult = list(x[3])") == [1.0, 0.0, 1.0, 1.0]
