# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights of vertices and of a lattice's points: found anew at each use, wherever Blender has put them meanwhile."""

from __future__ import annotations

import re
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_CUBE = "o = bpy.context.object\nv = o.data.vertices[0]\nblocks = bpy.data.meshes\n"
_LATTICE = (
    "l = bpy.data.lattices.new('l')\no = bpy.data.objects.new('l', l)\nblocks = bpy.data.lattices\n"
    "bpy.context.collection.objects.link(o)\nbpy.context.view_layer.objects.active = o\nv = l.points[0]\n"
)
_TWO = (
    "a, b, c = (o.vertex_groups.new(name=n) for n in 'abc')\n"
    "a.add(range(8), .25, 'REPLACE')\nb.add(range(8), .5, 'REPLACE')\n"
)
#: So many that what is freed of them is overwritten: the C library leaves the bytes of a few as they are.
_MANY = (
    f"{_TWO}for n in range(200): o.vertex_groups.new(name='more').add(range(8), 1, 'REPLACE')\n"
    "def said(of):\n    try:\n        return [of.group, of.weight]\n"
    "    except ReferenceError as error:\n        return str(error)\n"
)
_GONE = "StructRNA of type VertexGroupElement has been removed"
_EVALUATED = (
    "o.modifiers.new('m', 'BEVEL')\nd = bpy.context.evaluated_depsgraph_get()\n"
    "x = o.evaluated_get(d).data.vertices[0]"
)


def _overwriting(code: str) -> Any:
    def run() -> Any:
        fork.overwrite_freed()
        try:
            return result(code)
        except (HandlerError, PolicyError) as error:
            return str(error)

    return fork.run(run)


# --- where Blender puts the weights elsewhere ----------------------------------------------------------------


@pytest.mark.parametrize("setup", [_CUBE, _LATTICE], ids=["mesh", "lattice"])
@pytest.mark.parametrize(
    ("change", "now"),
    [
        ("c.add([0], 1, 'REPLACE')", [1, 0.5]),
        ("a.remove([0])", [1, 0.5]),
        ("b.remove([0])", _GONE),
        ("b.remove([0])\nb.add([0], .75, 'REPLACE')", [1, 0.75]),
        ("b.add([0], .25, 'ADD')", [1, 0.75]),
        ("v.groups.foreach_set('weight', [.75] * len(v.groups))", [1, 0.75]),
        ("o.vertex_groups.remove(c)", [1, 0.5]),
        ("o.vertex_groups.clear()", _GONE),
        ("bpy.ops.object.vertex_group_remove(all=True)", _GONE),
        ("d = o.data.copy()\nc.add([0], 1, 'REPLACE')\nblocks.remove(d)", [1, 0.5]),
        (
            "bpy.context.view_layer.update()\nc.add([0], 1, 'REPLACE')\nbpy.context.view_layer.update()",
            [1, 0.5],
        ),
        ("bpy.ops.object.mode_set(mode='EDIT')\nbpy.ops.object.mode_set(mode='OBJECT')\nv = 0", [1, 0.5]),
    ],
)
def test_a_weight_is_that_of_its_group_or_gone(setup: str, change: str, now: Any) -> None:
    said = _overwriting(f"{setup}{_MANY}x = v.groups[1]\n{change}\nresult = said(x)")
    gone = ["StructRNA of type LatticePoint has been removed"] * ("mode_set" in change)
    assert said in [now, *gone]


def test_a_weight_is_written_where_it_is_now() -> None:
    assert _overwriting(
        f"{_CUBE}{_MANY}x = v.groups[1]\na.remove([0])\nd = o.data.copy()\nx.weight = .75\nx.weight += .125\n"
        "blocks.remove(d)\nresult = [b.weight(0), x.weight, len(v.groups)]"
    ) == [0.875, 0.875, 201]


def test_weights_are_removed_in_a_loop_over_them() -> None:
    assert (
        _overwriting(
            f"{_CUBE}{_MANY}for v in o.data.vertices:\n    for g in v.groups:\n        if g.weight < 1:\n"
            "            o.vertex_groups[g.group].remove([v.index])\n"
            "result = [[len(v.groups), min(g.group for g in v.groups)] for v in o.data.vertices]"
        )
        == [[200, 3]] * 8
    )


@pytest.mark.parametrize("use", ["x.weight", "x.weight = 1", "y[0]", "x in y", "repr(y.values())", "len(y)"])
@pytest.mark.parametrize(
    ("setup", "remove"),
    [
        (_CUBE, "m = o.data\nbpy.data.meshes.remove(m)"),
        (_CUBE, "o.data.clear_geometry()"),
        (f"{_CUBE}{_TWO}{_EVALUATED}\nv = x\n", "o.modifiers[0].segments = 4\nd.update()"),
        (_LATTICE, "bpy.data.lattices.remove(l)"),
        (_LATTICE, "l.points_u = 20"),
    ],
    ids=["mesh", "geometry", "evaluated", "lattice", "points"],
)
def test_weights_go_with_their_vertex(setup: str, remove: str, use: str) -> None:
    more = "" if "segments" in remove else _TWO
    said = _overwriting(f"{setup}{more}y = v.groups\nx = y[0]\n{remove}\n{use}")
    assert re.search(r"ReferenceError.* of type (MeshVertex|LatticePoint) has been removed", said)


def test_a_removed_weight_can_still_be_shown() -> None:
    assert _overwriting(
        f"{_CUBE}{_TWO}x, y = v.groups\nz = v.groups\nb.remove([0])\nm = o.data\nshown = [repr(x), str(y)]\n"
        "bpy.data.meshes.remove(m)\nresult = [*shown, repr(x), f'{z}', x]"
    ) == [
        "bpy.data.meshes['Cube'].vertices[0].groups[0]",
        "<bpy_struct, VertexGroupElement invalid>",
        "<bpy_struct, VertexGroupElement invalid>",
        "<bpy_struct, MeshVertex invalid>.groups",
        {"type": "VertexGroupElement", "path": "<bpy_struct, VertexGroupElement invalid>"},
    ]


# --- lattices ------------------------------------------------------------------------------------


def test_weights_of_a_lattice_are_not_read_in_edit_mode() -> None:
    """Blender itself would crash."""
    assert "in edit mode" in _overwriting(
        f"{_LATTICE}{_TWO}bpy.ops.object.mode_set(mode='EDIT')\n[len(p.groups) for p in l.points]"
    )


def test_weights_of_a_lattice_are_not_written() -> None:
    """Blender itself would crash."""
    assert "vertex_groups[" in _overwriting(f"{_LATTICE}{_TWO}v.groups[0].weight = 1")


def test_data_paths_do_not_lead_to_them() -> None:
    path = "points[7].groups[0].weight"
    with pytest.raises(PolicyError, match=r"may not name LatticePoint\.groups"):
        result(
            f"{_LATTICE}{_TWO}t = o.driver_add('location', 0).driver.variables.new().targets[0]\n"
            f"t.id_type = 'LATTICE'\nt.id = l\nt.data_path = {path!r}"
        )
    with pytest.raises(PolicyError, match=r"may not name LatticePoint\.groups"):
        result(f"{_LATTICE}{_TWO}l.keyframe_insert({path!r})")
    assert result(f"{_CUBE}{_TWO}o.data.keyframe_insert('vertices[7].groups[0].weight')\nresult = 1") == 1


# --- as Blender's own ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", [_CUBE, _LATTICE], ids=["mesh", "lattice"])
@pytest.mark.parametrize(
    "code",
    [
        "[(g.group, g.weight) for g in v.groups]",
        "{g.group: g.weight for g in v.groups}",
        "[g.weight for g in reversed(v.groups)]",
        "[g.group for g in (*v.groups, *v.groups[:1], *v.groups[1:], *v.groups[-1:], v.groups[-1], v.groups[True])]",
        "[(i, g.group) for i, g in v.groups.items()]",
        "[(i, g.group) for i, g in enumerate(v.groups.values())]",
        "[len(v.groups), bool(v.groups), v.groups.keys(), v.groups.find('a')]",
        "[x.id_data.name for x in (v.groups, v.groups[0])]",
        "[v.groups == v.groups, v.groups[0] == v.groups[0], v.groups[0] != v.groups[1], v.groups[0] == v.groups]",
        "len({v.groups[0], v.groups[1], v.groups[0]})",
        "[hash(v.groups) == hash(v.groups), hash(v.groups[0]) == hash(v.groups[0])]",
        "[v.groups[0].bl_rna.identifier, v.groups[0].rna_type.properties['weight'].soft_max]",
        "type(v.groups[0]).__name__",
        "[hasattr(v.groups[0], name) for name in ('group', 'weight', 'index')]",
        "max(v.groups, key=lambda g: g.weight).group",
        "[g.group for g in sorted(v.groups, key=lambda g: -g.weight)]",
        "sum(map(operator.attrgetter('weight'), v.groups))",
        "[operator.itemgetter(1)(v.groups).group, operator.attrgetter('groups')(v)[1].weight]",
        "[g.group for g in itertools.chain(v.groups, v.groups)]",
        "next(g.weight for g in v.groups if g.group == 1)",
        "any(g.group == a.index for g in v.groups)",
        "o.data.path_resolve(f'{WHERE}[0].groups[1].weight')",
        "[o.data.path_resolve(f'{WHERE}[0].groups[1]').group, len(o.data.path_resolve(f'{WHERE}[0].groups'))]",
        "getattr(getattr(v, 'groups')[0], 'weight')",
        "'{0[1].weight} {0[0].group}'.format(v.groups)",
        "foreach(v.groups, [0, 0])",
        "written(v.groups)",
        "error(lambda: v.groups[2])",
        "error(lambda: v.groups[-3])",
        "error(lambda: v.groups['a'])",
        "error(lambda: v.groups[1.5])",
        "error(lambda: v.groups.get('a'))",
        "error(lambda: v.groups[0].index)",
        "error(lambda: setattr(v.groups[0], 'group', 1))",
        "o.type == 'LATTICE' or error(lambda: setattr(v.groups[0], 'weight', 'x'))",
        "error(lambda: setattr(v.groups[0], 'index', 1))",
        "error(lambda: v.groups.foreach_get('index', [0, 0]))",
        "error(lambda: v.groups[0] < v.groups[1])",
    ],
)
def test_it_is_as_in_plain_blender(setup: str, code: str) -> None:
    where = "vertices" if setup is _CUBE else "points"
    script = (
        f"import itertools, operator\n{setup}{_TWO}WHERE = {where!r}\n"
        "def foreach(of, into):\n    of.foreach_get('weight', into)\n    return into\n"
        "def written(of):\n    of.foreach_set('weight', [.125, 2])\n    if o.type == 'MESH': of[0].weight += .25\n"
        "    return [g.weight for g in of]\n"
        "def error(call):\n    try:\n        call()\n    except Exception as raised:\n"
        "        return [type(raised).__name__, str(raised)]\n"
        f"result = {code}"
    )
    plain: dict[str, Any] = {"bpy": bpy}
    fork_of_plain = fork.run(lambda: (exec(script, plain), _plain(plain["result"]))[1])
    assert _plain(result(script)) == fork_of_plain


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("setup", "vertex"),
    [(_CUBE, "bpy.data.meshes['Cube'].vertices[0]"), (_LATTICE, "bpy.data.lattices['l'].points[0]")],
)
def test_it_is_shown_by_its_path(setup: str, vertex: str) -> None:
    """Of a lattice's point, Blender itself would show something else, if it came to an end."""
    assert result(
        f"{setup}{_TWO}g = v.groups\nresult = [repr(g), repr(g[1]), repr(g[-1]), str(g.values())]"
    ) == [
        f"{vertex}.groups",
        f"{vertex}.groups[1]",
        f"{vertex}.groups[1]",
        f"[{vertex}.groups[0], {vertex}.groups[1]]",
    ]


def test_results_tell_of_weights_by_path() -> None:
    path = {"type": "VertexGroupElement", "path": "bpy.data.meshes['Cube'].vertices[0].groups[0]"}
    assert result(f"{_CUBE}{_TWO}b.remove([0])\nresult = [v.groups[0], v.groups]") == [path, [path]]


# --- nothing gets round it -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "v.groups._vertex",
        "v.groups[0]._vertex",
        "getattr(v.groups, '_ver' + 'tex')",
        "operator.attrgetter('_host')(v.groups)",
        "operator.attrgetter('_vertex.groups')(v.groups[0])",
        "'{0._vertex}'.format(v.groups)",
        "vars(v.groups)",
        "v.groups.__getattr__('_vertex')",
        "v.groups.__reduce__()",
        "copy.copy(v.groups[0])",
        "copy.copy(v.groups)",
        "setattr(v.groups[0], '_at', 9)",
        "setattr(v.groups[0], 'bl_rna', 9)",
        "setattr(v.groups, 'x', 9)",
        "delattr(v.groups[0], 'group')",
        "v.groups.foreach_set('group', [1, 1])",
        "v.groups.__setitem__(0, 1)",
        "type(v.groups)()",
        "type(v.groups[0])()",
        "type(v.groups[0]).weight",
        "bpy.types.VertexGroupElement.weight",
        "v.groups[0].as_pointer()",
        "o.parent = v.groups[0]",
        "o.vertex_groups.remove(v.groups[0])",
        "o['x'] = v.groups",
        "o['x'] = v.groups[0]",
    ],
)
def test_there_is_no_way_round(code: str) -> None:
    with pytest.raises((PolicyError, HandlerError)):
        result(f"import copy, operator\n{_CUBE}{_TWO}{code}")
    assert bpy.context.object.data.vertices[0].groups[:] == []  # it was rolled back


@pytest.mark.parametrize(
    ("method", "use"), [("__index__", "v.groups[E()].weight"), ("__float__", "v.groups[1].weight = E()")]
)
def test_nothing_runs_in_the_midst_of_blenders_work(method: str, use: str) -> None:
    assert method in _overwriting(
        f"{_CUBE}{_TWO}class E:\n    def {method}(self):\n        o.vertex_groups.clear()\n        return 1\n{use}"
    )
