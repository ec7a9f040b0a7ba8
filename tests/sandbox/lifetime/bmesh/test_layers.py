# SPDX-License-Identifier: GPL-3.0-or-later
"""What points into a BMesh's memory is cut loose when that memory goes, and stays as it is otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import held
from bl_ext.user_default.mcp_bridge.sandbox.lifetime.bmesh import removals
from bl_ext.user_default.mcp_bridge.sandbox.lifetime.bmesh.made import OwnMeshes

from support.running import fork
from support.sandboxing.scripts import result

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


@pytest.mark.parametrize(
    ("member", "shown"),
    [("b.verts[:][-1].co", [2.0, 2.0, 0.0]), ("b.faces[:][-1].normal", [0.0, 0.0, 1.0])],
)
def test_coordinates_stay_what_they_are_of_where_other_elements_get_layers(
    member: str, shown: list[float]
) -> None:
    """The layers of edges and of loops move, and so do elements that a script holds; vertices and faces stay."""
    assert result(
        f"{_GRID}x = {member}\nb.edges.layers.int.new('i')\nb.loops.layers.int.new('i')\n"
        f"x.x = x.x + 0\nsame = list(x)\nx.z = 7\nresult = [same, {member}.z]"
    ) == [pytest.approx(shown), 7.0]


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
    ("take", "use"),
    [
        ("b.verts", "len(x)"),
        ("b.faces", "list(x)"),
        ("b.edges[:][0].link_faces", "x[0]"),
        ("b.select_history", "x.active"),
        ("b.loops.layers", "x.uv"),
        ("b.loops.layers.uv", "x.active"),
        ("b.loops.layers.uv.verify()", "x.name"),
        ("b.verts.new", "x((0, 0, 0))"),
    ],
)
def test_what_is_of_a_freed_mesh_says_so(take: str, use: str) -> None:
    script = f"import bmesh\nb, c = bmesh.new(), bmesh.new()\nfor m in (b, c): bmesh.ops.create_cube(m)\nx = {take}\n"
    other = take.replace("b.", "c.")
    assert result(f"{script}y = {other}\nb.free()\nx = y\n{use}\nresult = c.is_valid") is True
    with pytest.raises(HandlerError, match="has been removed"):
        result(f"{script}b.free()\n{use}")


@pytest.mark.parametrize("use", ["len(x)", "list(x)", "x.layers", "y.keys()"])
@pytest.mark.parametrize(
    "leave", ["bpy.ops.object.mode_set(mode='OBJECT')", "bpy.data.objects.remove(bpy.context.object)"]
)
def test_what_is_of_edit_mode_says_so_when_that_is_left(leave: str, use: str) -> None:
    def run() -> Any:
        fork.overwrite_freed()
        try:
            result(
                "import bmesh\nme = bpy.context.object.data\nbpy.ops.object.mode_set(mode='EDIT')\n"
                "def take():\n    b = bmesh.from_edit_mesh(me)\n    return b.verts, b.loops.layers.uv\n"
                f"x, y = take()\nbpy.ops.mesh.select_all()\nassert len(x) == 8\n{leave}\n{use}"
            )
        except HandlerError as error:
            return str(error)
        return "nothing was said"

    said = fork.run(run)
    assert "has been removed" in said or "remove" in leave  # which leaves edit mode's mesh as it is


@pytest.mark.parametrize(
    ("take", "use", "expected"),
    [
        ("c.verts", "len(list(x))", 3721),
        ("c.faces.layers", "len(x.int)", 0),
        ("[v.co for v in c.verts]", "[n for n in x[0]]", [-1.0, -1.0, 0.0]),
    ],
)
@pytest.mark.parametrize("later", ["pass", "b, x2 = None, take()", "del b"])
def test_what_is_of_a_mesh_that_was_let_go_of(take: str, use: str, expected: object, later: str) -> None:
    def run() -> Any:
        fork.overwrite_freed()
        try:
            return result(
                "import bmesh\nb = None\ndef take():\n    c = bmesh.new()\n"
                f"    bmesh.ops.create_grid(c, x_segments=60, y_segments=60, size=1)\n    return {take}\n"
                f"x = take()\n{later}\nresult = {use}"
            )
        except HandlerError as error:
            return type(error.original).__name__

    assert fork.run(run) in (expected, "ReferenceError")


def test_meshes_that_were_let_go_of_are_freed() -> None:
    """Or a script that never frees would take the memory of all that it made."""
    made = []

    def kept(meshes: OwnMeshes, mesh: Any) -> None:
        keep(meshes, mesh)
        made.append(len(meshes._made) + len(meshes._spared))

    keep = OwnMeshes.keep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OwnMeshes, "keep", kept)
        result("import bmesh\nfor n in range(20):\n    b = bmesh.new()\n    b.verts.new((n, 0, 0))")
    assert len(made) == 20
    assert max(made) <= 3


@pytest.mark.parametrize("frees", ["b.free()", "b.clear()", "b.verts.remove(x)"])
@pytest.mark.parametrize(
    "draw",
    [
        "for x in b.verts:\n    {}",
        "n = [0 for x in b.verts if {} is None]",
        "it = iter(b.verts)\nx = next(it)\n{}\nn = list(it)",
        "for _, x in enumerate(b.verts):\n    {}",
        "def f(x): {}\nn = list(map(f, b.verts))",
        "def f(x):\n    {}\n    return 0\nn = max(b.verts, key=f)",
        "for x in b.faces[:][0].verts:\n    {}",
    ],
)
def test_elements_are_gone_through_while_they_go(draw: str, frees: str) -> None:
    """None is read once its memory was freed: Blender says so of the elements themselves."""

    def run() -> Any:
        fork.overwrite_freed()
        try:
            return result(
                "import bmesh\nb = bmesh.new()\nbmesh.ops.create_grid(b, x_segments=25, y_segments=25)\n"
                f"{draw.format(frees)}\nresult = 'through'"
            )
        except HandlerError as error:
            return type(error.original).__name__

    assert fork.run(run) in ("through", "ReferenceError")


_KEPT = (
    "import bmesh\nb = bmesh.new()\nbmesh.ops.create_grid(b, x_segments=60, y_segments=60, size=2)\n"
    "x = [v.co for v in b.verts] + [f.normal for f in b.faces]\nwas = [n for v in x for n in v]\n"
    "bmesh.ops.{}\nresult = sum(abs(abs(a) - abs(b)) > 0.01 for a, b in zip(was, [n for v in x for n in v]))"
)


def _changed(operator: str, *, plain: bool = False) -> int:
    """How many numbers are others after an operator, where what is freed is overwritten."""
    fork.overwrite_freed()
    names: dict[str, Any] = {}
    if not plain:
        return int(result(_KEPT.format(operator)))
    exec(_KEPT.format(operator), names)
    return int(names["result"])


@pytest.mark.parametrize(
    "operator",
    [
        "extrude_discrete_faces(b, faces=b.faces[:])",
        "extrude_edge_only(b, edges=b.edges[:])",
        "extrude_face_region(b, geom=[*b.verts[:], *b.edges[:], *b.faces[:]])",
        "extrude_vert_indiv(b, verts=b.verts[:])",
        "inset_individual(b, faces=b.faces[:], thickness=0.001)",
        "inset_region(b, faces=b.faces[:], thickness=0.001)",
        "subdivide_edges(b, edges=b.edges[:], cuts=1, use_grid_fill=True)",
        "triangulate(b, faces=b.faces[:])",
    ],
)
def test_operators_that_make_before_they_remove_free_no_memory(operator: str) -> None:
    assert operator.partition("(")[0] in removals.STAYING
    assert fork.run(_changed, operator) == 0


@pytest.mark.parametrize(
    "operator",
    [
        "delete(b, geom=b.verts[:], context='VERTS')",
        "delete(b, geom=b.verts, context='VERTS')",
        "remove_doubles(b, verts=b.verts, dist=100)",
        "weld_verts(b, targetmap=dict.fromkeys(b.verts[:][1:], b.verts[:][0]))",
    ],
)
def test_an_operator_that_leaves_nothing_frees_it(operator: str) -> None:
    assert fork.run(lambda: _changed(operator, plain=True)) > 1000
    assert fork.run(_changed, operator) == 0


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


_TWO = (
    "import bmesh\nb = bmesh.new()\nd = b.verts.layers.deform.new('d')\nc = b.verts.layers.color.new('c')\n"
    "lc = b.loops.layers.color.new('c')\ndef face(z):\n"
    "    return b.faces.new([b.verts.new(co) for co in ((0, 0, z), (1, 0, z), (1, 1, z))])\n"
    "f, g = face(0), face(1)\nv, e, l = f.verts[0], f.edges[0], f.loops[0]\nv[d][1] = 0.5\n"
)
_WRITE = (
    "x[7] = 1.0\nx.clear()\nx[3] = 0.5\ny[:] = z[:] = (1, 1, 1, 1)\n"
    "faces = [face(n + 2) for n in range(50)]\nresult = x.items(), list(y), len(b.faces), g.is_valid\n"
)


@pytest.mark.parametrize(
    "remove",
    [
        "b.verts.remove(v)",
        "b.edges.remove(e)\nb.verts.remove(v)",
        "b.faces.remove(f)\nb.verts.remove(v)",
        "bmesh.utils.vert_dissolve(v)",
        "bmesh.ops.delete(b, geom=[v], context='VERTS')",
    ],
)
@pytest.mark.parametrize(
    "read",
    ["x, y, z = v[d], v[c], l[lc]", "x, y, z = [each[layer] for each, layer in ((v, d), (v, c), (l, lc))]"],
)
def test_weights_and_colours_of_a_removed_element_are_written_without_harm(remove: str, read: str) -> None:
    """They lay where Blender links free memory: what is written there is where it makes the next element."""
    found = fork.run(result, f"{_TWO}{read}\n{remove}\n{_WRITE}")
    assert found[0] == [[3, 0.5]]
    assert found[2:] == [51, True]


def test_weights_of_many_elements_are_kept_apart() -> None:
    assert fork.run(
        result,
        f"{_GRID}pairs = [(each, each[d]) for each in b.verts]\n"
        "for each, weights in pairs[1::2]: b.verts.remove(each)\n"
        "for n, (_each, weights) in enumerate(pairs): weights[1] = n / 1000\n"
        "result = [round(1000 * each[d][1]) for each in b.verts] == list(range(0, len(pairs), 2))",
    )


@pytest.mark.parametrize(
    "empty",
    [
        "for v in b.verts[:]: b.verts.remove(v)",
        "bmesh.ops.delete(b, geom=b.verts[:], context='VERTS')",
        "for e in b.edges[:]: b.edges.remove(e)\nfor v in b.verts[:]: b.verts.remove(v)",
        "for f in b.faces[:]: b.faces.remove(f)\nfor v in b.verts[:]: b.verts.remove(v)",
    ],
)
def test_coordinates_and_normals_of_the_last_elements_are_kept(empty: str) -> None:
    """Blender frees the memory of vertices with the last one, and that of faces."""
    assert result(
        "import bmesh\nb = bmesh.new()\nfor i in range(400):\n"
        "    b.faces.new([b.verts.new(co) for co in ((0, 0, i), (1, 0, i), (1, 1, i))])\n"
        "b.normal_update()\nco, normal = [v.co for v in b.verts], [f.normal for f in b.faces]\n"
        f"{empty}\nfor i in range(9): b.verts.new((7, 7, 7))\n"
        "result = [[list(each[n]) for n in (0, -1)] for each in (co, normal)]"
    ) == [[[0.0, 0.0, 0.0], [1.0, 1.0, 399.0]], [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]]


def test_a_removal_is_looked_after_only_where_it_may_be_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or removing vertex by vertex would take the square of their number."""
    seen: list[None] = []
    monkeypatch.setattr(held.Held, "find", lambda *_: seen.append(None) or ())
    assert result(f"{_GRID}for each in b.verts[:]: b.verts.remove(each)\nresult = len(b.verts)") == 0
    assert len(seen) < 10


def test_what_was_removed_is_not_removed_again() -> None:
    with pytest.raises(HandlerError, match="has been removed"):
        result(f"{_GRID}b.verts.remove(v)\nb.verts.remove(v)")
