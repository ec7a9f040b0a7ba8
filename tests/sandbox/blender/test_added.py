# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that are built part by part: after each step Blender may evaluate, read and validate them."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_USE = """
def use(mesh):
    mesh.calc_loop_triangles()
    bpy.context.view_layer.update()
    return [(tuple(p.vertices), tuple(p.normal), p.area, tuple(p.center)) for p in mesh.polygons]
"""


@pytest.mark.parametrize(
    "code",
    [
        "m = bpy.data.meshes.new('m'); m.vertices.add(3); m.edges.add(3); m.loops.add(9); m.polygons.add(3)",
        "m = bpy.data.objects['Cube'].data; m.loops.add(30); m.polygons.add(3); m.polygons.add(7)",
        "m = bpy.data.objects['Cube'].data; m.loops.add(6); held = [*m.polygons, *m.loops]; m.polygons.add(2)",
        "m = bpy.data.objects['Cube'].data; m.edges.add(1000); m.vertices.add(1000); m.loops.add(3)",
    ],
)
@pytest.mark.parametrize("then", ["", "m.update(calc_edges=True)", "m.validate()"])
def test_what_was_added_can_be_used_at_once(code: str, then: str) -> None:
    fill = "x = [bytes([255]) * n for n in range(4000)]; x = None\n"
    link = "\nbpy.context.collection.objects.link(bpy.data.objects.new('o', m))\n"
    assert fork.run(result, f"{_USE}{fill}{code}{link}{then}\nuse(m)\nresult = 'used'") == "used"


def test_new_faces_have_loops_of_their_own() -> None:
    code = "m = bpy.data.objects['Cube'].data; m.loops.add(7); m.polygons.add(1); m.polygons.add(1)\n"
    assert fork.run(result, code + "result = [p.loop_start for p in m.polygons]") == [
        0,
        4,
        8,
        12,
        16,
        20,
        23,
        26,
    ]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "bpy.data.objects['Cube'].data.polygons.add(5)",
            r"MeshPolygons.add\(\): 5 faces need at least 15 loops, and 1 are free: add the loops first",
        ),
        (
            "bpy.data.meshes.new('m').loops.add(3)",
            r"MeshLoops.add\(\): the mesh has no vertices yet: add these first",
        ),
        (
            "bpy.data.meshes.new('m').edges.add(3)",
            r"MeshEdges.add\(\): the mesh has no vertices yet: add these first",
        ),
        *(
            (
                f"bpy.data.objects['Cube'].data.polygons.foreach_set('loop_start', {starts})",
                r"MeshPolygon.loop_start: the faces' first loops begin at 0 and ascend by at least 3: "
                "6 faces have 24 loops",
            )
            for starts in (
                [3, 6, 9, 12, 16, 20],
                [0, 4, 4, 12, 16, 20],
                [0, 4, 8, 12, 16, 22],
                [0, 1, 8, 12, 16, 20],
            )
        ),
    ],
)
def test_what_lacks_its_parts_is_refused(code: str, message: str) -> None:
    with pytest.raises(HandlerError, match=f"ValueError: {message}"):
        result(code)
