# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking at a data-block moves none of its layers; where Blender makes a layer, references to the others follow."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork
from support.sandboxing.scripts import result
from support.scenes import references

pytestmark = pytest.mark.usefixtures("fresh_file")

_MAKE = {
    "mesh": "bpy.ops.mesh.primitive_cube_add()\n"
    "bpy.context.object.data.color_attributes.new('c', 'BYTE_COLOR', 'CORNER')",
    "curves": "bpy.ops.object.curves_random_add()",
    "grease pencil": "bpy.ops.object.grease_pencil_add(type='MONKEY')",
}
_LOOK = (
    references.GATHER
    + """
o = bpy.context.object
held = []
for block in (o, o.data):
    gather(block, held)
for each in held:
    if isinstance(each, bpy.types.bpy_prop_collection):
        len(each), bool(each), list(each)
"""
)


def _layers(data: Any) -> list[tuple[str, int]]:
    drawings = [f.drawing for layer in getattr(data, "layers", ()) for f in layer.frames]
    return [(a.name, a.as_pointer()) for owner in (data, *drawings) for a in getattr(owner, "attributes", ())]


def _looked(make: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    exec(make, {"bpy": bpy})
    data = bpy.context.object.data
    before = _layers(data)
    names = {
        struct: tuple(name for name in names if name != "groups")
        for struct, names in references.names().items()
    }
    exec(_LOOK, {"NAMES": names})
    return before, _layers(data)


@pytest.mark.parametrize("kind", _MAKE)
def test_looking_at_what_a_script_may_read_makes_and_moves_no_layer(kind: str) -> None:
    if kind == "grease pencil" and bpy.app.version < (4, 3):
        pytest.skip("this Blender has grease pencils without layers of attributes")
    before, after = fork.run(_looked, _MAKE[kind])
    assert before
    assert before == after


_LAYERS = """
import bpy
bpy.ops.mesh.primitive_cube_add()
o = bpy.context.object
m = o.data
group = o.vertex_groups.new(name="g")
other = o.vertex_groups.new(name="h")
for domain in ("POINT", "EDGE", "FACE", "CORNER"):
    for kind in ("FLOAT_VECTOR", "FLOAT2", "BOOLEAN", "FLOAT_COLOR"):
        m.attributes.new(domain + kind, kind, domain)
layers = list(m.attributes) + list(m.uv_layers) + list(m.color_attributes)
names = [each.name for each in layers]
kept = [(each.name, each.data) for each in layers if each.name[0] != "."]
lengths = [len(data) for _name, data in kept]
def again(name):
    return m.attributes[name].data[0]
def about(was, say):
    try:
        return say()
    except ReferenceError:
        return was if was not in m.attributes else "gone"
STEP
result = [
    [(was, now) for was, each in zip(names, layers) if (now := about(was, lambda: each.name)) != was],
    [was for (was, data), length in zip(kept, lengths) if about(was, lambda: len(data)) not in (was, length)],
    [was for was, data in kept if was in m.attributes and type(data[0]) is type(again(was)) and data[0] != again(was)],
]
"""


def _written() -> list[str]:
    """Each flag of a vertex, edge, face or corner, as it is set one by one, all at once, and back to its default."""
    found = []
    collections = {"MeshVertex": "vertices", "MeshEdge": "edges", "MeshPolygon": "polygons"}
    for struct, items in collections.items():
        for prop in getattr(bpy.types, struct).bl_rna.properties:
            flag = prop.identifier
            if flag not in policy("blender").writable(struct) or prop.is_readonly or prop.is_array:
                continue
            if flag in ("loop_start", "loop_total"):  # always there
                continue
            found += [
                f"m.{items}[0].{flag} = 1",
                f"m.{items}.foreach_set('{flag}', [1] * len(m.{items}))",
                f"m.{items}[0].property_unset('{flag}')",
            ]
    return found


_CALLS = [
    "group.add([0, 1], 1, 'ADD')",
    "group.add([0, 1], 1, 'ADD')\nother.add([2], 1, 'ADD')\ngroup.remove([0, 1])",
    "group.add([0], 1, 'ADD')\nw = m.vertices[0].groups[0]\no.vertex_groups.clear()\nlen(m.vertices[0].groups)",
    "len(m.vertices[0].groups)",
    "list(m.vertices[0].groups)",
    "try:\n    m.vertices[0].groups[0]\nexcept IndexError:\n    pass",
    "m.normals_split_custom_set([(0, 0, 1)] * 24)",
    "m.shade_flat()\nm.shade_smooth()",
    "m.set_sharp_from_angle(angle=0.1)",
    "m.update(calc_edges=True, calc_edges_loose=True)\nm.validate()",
    "m.flip_normals()",
    "o.shape_key_add(name='k')\no.shape_key_add(name='l')",
    "e = m.edges[0]\nsetattr(e, 'use_seam', True)\nm.polygons[0].material_index = 1\nsetattr(e, 'use_seam', False)",
    "for f in m.polygons:\n    f.material_index = 1\n    f.use_smooth = True",
]


@pytest.mark.parametrize("step", _written() + _CALLS)
def test_references_to_layers_stay_with_them_when_blender_makes_another(step: str) -> None:
    def tried() -> Any:
        fork.overwrite_freed()
        execute._rate.clear()
        try:
            return result(_LAYERS.replace("STEP", step))
        except Exception as error:
            return str(error)

    assert fork.run(tried) == [[], [], []]


def test_in_plain_blender_references_to_layers_are_left_behind() -> None:
    """The test above could not fail where Blender moves nothing. Blender 5.2 keeps layers in their place."""

    def moved(step: str) -> list[str]:
        names: dict[str, Any] = {}
        exec(_LAYERS.partition("STEP")[0] + step, names)
        pairs = zip(names["names"], names["layers"], strict=True)
        there = {each.name: each.as_pointer() for each in names["m"].attributes}
        return [was for was, each in pairs if was in there and each.as_pointer() != there[was]]

    assert any(fork.run(moved, step) for step in _CALLS + _written()) == (bpy.app.version < (5, 2))


@pytest.mark.parametrize("name", ["edge_selection", "pin", "vertex_selection"])
def test_flags_whose_layer_is_made_on_sight_say_what_to_use(name: str) -> None:
    if name not in bpy.types.MeshUVLoopLayer.bl_rna.properties:
        pytest.skip(f"this Blender has no MeshUVLoopLayer.{name}")
    with pytest.raises(
        Exception, match=r"makes a layer as soon as it is looked at.*use bmesh, loop\[uv_layer\]"
    ):
        result(
            "import bpy\nbpy.ops.mesh.primitive_cube_add()\n"
            f"result = len(bpy.context.object.data.uv_layers[0].{name})"
        )
