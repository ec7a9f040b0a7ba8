# SPDX-License-Identifier: GPL-3.0-or-later
"""A script gives no layer a name that Blender keeps, but to a layer as Blender makes it: Blender 5 would crash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender.layers.names import FLAGS, NAMED, NAMING
from bl_ext.user_default.mcp_bridge.sandbox.facts.members import names, rows
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.lifetime.layers import WRITTEN

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_ROWS = [row for row in rows("layers of Blender's own") if "mesh" in row["of"]]
_OWN = {name: (*row["type"], *row["domain"]) for row in _ROWS for name in row["names"]}
_START = "import bpy\no = bpy.context.object\nm = o.data\n"
_MAKING = {
    "AttributeGroupMesh.new": "m.attributes.new(NAME, 'FLOAT_VECTOR', 'CORNER')",
    "AttributeGroupMesh.new of colors": "m.color_attributes.new(NAME, 'BYTE_COLOR', 'CORNER')",
    "LoopColors.new": "m.vertex_colors.new(name=NAME)",
    "UVLoopLayers.new": "m.uv_layers.new(name=NAME)",
    "VertexGroups.new": "o.vertex_groups.new(name=NAME)",
    "ArmatureEditBones.new": "bpy.ops.object.armature_add(enter_editmode=True)\n"
    "bpy.context.object.data.edit_bones.new(NAME)",
    "Attribute.name": "m.attributes.new('a', 'FLOAT_VECTOR', 'CORNER').name = NAME",
    "MeshLoopColorLayer.name": "m.vertex_colors.new(name='a').name = NAME",
    "MeshUVLoopLayer.name": "m.uv_layers[0].name = NAME",
    "VertexGroup.name": "o.vertex_groups.new(name='a').name = NAME",
    "Bone.name": "bpy.ops.object.armature_add()\nbpy.context.object.data.bones[0].name = NAME",
    "PoseBone.name": "bpy.ops.object.armature_add()\nbpy.context.object.pose.bones[0].name = NAME",
    "EditBone.name": "bpy.ops.object.armature_add(enter_editmode=True)\n"
    "bpy.context.object.data.edit_bones[0].name = NAME",
    "geometry.attribute_add": "bpy.ops.geometry.attribute_add(name=NAME, domain='CORNER', data_type='FLOAT_VECTOR')",
    "geometry.attribute_add by default": "bpy.ops.geometry.attribute_add(name=NAME, data_type='INT8')",
    "geometry.color_attribute_add": "bpy.ops.geometry.color_attribute_add(name=NAME)",
}


@pytest.mark.parametrize("how", _MAKING)
def test_each_way_to_give_a_layer_a_name_of_blenders_own_is_refused(how: str) -> None:
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    for name in _OWN:
        for given in (name, name + "\0x"):
            with pytest.raises(
                Exception, match=f"keeps the name '{name}' for a layer of type .*use another name"
            ):
                result(_START + _MAKING[how].replace("NAME", repr(given)))


def test_the_ways_are_all_that_the_rules_name() -> None:
    made = {f"{struct}.new" for struct in NAMING if not struct.startswith("AttributeGroup")}
    attributes = {name for name in dir(bpy.types) if name.startswith("AttributeGroup")}
    ways = {way.partition(" ")[0] for way in _MAKING if not way.startswith("geometry.")}
    assert made | {"AttributeGroupMesh.new"} | {f"{struct}.name" for struct in NAMED} == ways
    assert attributes
    assert attributes <= NAMING


def test_a_converted_layer_keeps_what_blender_needs() -> None:
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    made = _START + "m.attributes.active = m.attributes.new('uv_seam', 'BOOLEAN', 'EDGE')\n"
    with pytest.raises(Exception, match="keeps the name 'uv_seam'"):
        result(made + "bpy.ops.geometry.attribute_convert(domain='CORNER', data_type='FLOAT')")


_OUTPUT = (
    _START
    + """
group = bpy.data.node_groups.new('group', 'GeometryNodeTree')
group.interface.new_socket('mesh', in_out='OUTPUT', socket_type='NodeSocketGeometry')
socket = group.interface.new_socket('value', in_out='OUTPUT', socket_type='NodeSocketVector')
modifier = o.modifiers.new('nodes', 'NODES')
modifier.node_group = group
"""
)
_NAMED_OUTPUT = (
    "modifier[socket.identifier + '_attribute_name'] = NAME"
    if bpy.app.version < (5, 2)
    else "getattr(modifier.properties.outputs, socket.identifier).attribute_name = NAME"
)


@pytest.mark.parametrize("how", ["socket.default_attribute_name = NAME", _NAMED_OUTPUT])
def test_nodes_store_no_output_under_a_name_of_blenders_own(how: str) -> None:
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    for name in (*_OWN, "sharp_edge\0x"):
        with pytest.raises(Exception, match=r"keeps the name .*the node Store Named Attribute"):
            result(_OUTPUT + how.replace("NAME", repr(name)))
    result(_OUTPUT + how.replace("NAME", "'mine'"))


def test_no_bytes_get_past_as_the_name_of_an_output() -> None:
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    with pytest.raises(
        Exception, match=r"keeps the name|not supported"
    ):  # Blender 5.2 has no such properties
        result(_OUTPUT + "modifier[socket.identifier + '_attribute_name'] = b'sharp_edge'")


def test_layers_as_blender_makes_them_are_made() -> None:
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    made = [
        f"if {name!r} in m.attributes:\n    m.attributes.remove(m.attributes[{name!r}])\n"
        f"found.append(m.attributes.new({name!r}, {kind!r}, {domain!r}).name)\n"
        for name, (kind, domain) in _OWN.items()
    ]
    assert result(_START + "found = []\n" + "".join(made) + "result = found") == list(_OWN)


def _flags() -> Iterator[tuple[str, str, str]]:
    """The flags of the parts of a mesh that a script may write, each with its struct and collection."""
    parts = {"MeshVertex": "vertices", "MeshEdge": "edges", "MeshPolygon": "polygons"}
    assert parts.keys() <= WRITTEN
    for struct, items in parts.items():
        for prop in getattr(bpy.types, struct).bl_rna.properties:
            written = prop.identifier in policy("blender").writable(struct) and not prop.is_readonly
            if written and prop.type in ("BOOLEAN", "INT") and not prop.is_array:
                yield struct, items, prop.identifier


def _layers_of(items: str, flag: str) -> list[tuple[str, str, str]]:
    mesh = bpy.data.meshes.new("mesh")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (1, 1, 0)], [(0, 1), (1, 2), (2, 0)], [(0, 1, 2)])
    for name in set(mesh.attributes.keys()) & _OWN.keys():
        mesh.attributes.remove(mesh.attributes[name])
    before = set(mesh.attributes.keys())
    for value in (True, False):  # `use_smooth` has a layer of what is sharp
        setattr(getattr(mesh, items)[0], flag, value)
    return [(each.name, each.data_type, each.domain) for each in mesh.attributes if each.name not in before]


def test_the_table_has_the_layer_of_each_flag_as_blender_makes_it() -> None:
    found = {f"{struct}.{flag}": _layers_of(items, flag) for struct, items, flag in _flags()}
    made = [layer for layers in found.values() for layer in layers]
    found = {path: layers for path, layers in found.items() if layers}
    assert found.keys() <= FLAGS.keys()
    assert [
        (path, name) for path, layers in found.items() for name, *_ in layers if name not in FLAGS[path]
    ] == []
    assert len(made) >= 8
    assert [layer for layer in made if _OWN.get(layer[0]) != layer[1:]] == []


_WRITES = (
    "m.ITEMS[0].FLAG = 1",
    "m.ITEMS.foreach_set('FLAG', [1] * len(m.ITEMS))",
    "m.ITEMS[0].property_unset('FLAG')",
)


@pytest.mark.parametrize("how", _WRITES)
def test_no_flag_is_written_where_blender_would_crash(how: str) -> None:
    for _struct, items, flag in _flags():
        for name, *_ in _layers_of(items, flag):
            mesh = bpy.data.objects["Cube"].data
            bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
            if name in mesh.attributes:
                mesh.attributes.remove(mesh.attributes[name])
            kind = mesh.attributes.new(name, "FLOAT_VECTOR", "CORNER")
            if kind is None:  # this Blender takes care of it
                continue
            write = how.replace("ITEMS", items).replace("FLAG", flag)
            if bpy.app.version < (5, 0):
                result(_START + write)
            else:
                with pytest.raises(
                    Exception, match=r"first call mesh\.attributes\.remove\(mesh\.attributes\["
                ):
                    result(_START + write)
            result(_START + f"mesh = m\nmesh.attributes.remove(mesh.attributes[{name!r}])\n" + write)


def test_plain_blender_5_crashes_of_such_a_layer() -> None:
    def write() -> str:
        mesh: Any = bpy.data.objects["Cube"].data
        mesh.attributes.remove(
            mesh.attributes.get(".select_vert") or mesh.attributes.new(".select_vert", "INT", "EDGE")
        )
        mesh.attributes.new(".select_vert", "FLOAT", "POINT")
        mesh.vertices[0].select = True
        return "written"

    if bpy.app.version < (5, 0):
        assert fork.run(write) == "written"
    else:
        with pytest.raises(fork.Died, match="SIGSEGV"):
            fork.run(write)


_CURVES = (
    "import bpy\nc = bpy.data.hair_curves.new('c')\nc.add_curves([4, 4])\no = bpy.data.objects.new('o', c)\n"
    "bpy.context.collection.objects.link(o)\nbpy.context.view_layer.objects.active = o\n"
)
_KINDS_OF_BELIEVED = {"curve_type": "INT8", "nurbs_order": "INT8", "resolution": "INT"}


@pytest.mark.parametrize(
    "how",
    [
        "c.attributes.new(NAME, KIND, 'CURVE')",
        "c.attributes.new('q', KIND, 'CURVE').name = NAME",
        "bpy.ops.geometry.attribute_add(name=NAME, domain='CURVE', data_type=KIND)",
        "c.attributes[NAME].data",
    ],
)
def test_no_script_says_what_blender_believes_of_curves(how: str) -> None:
    assert _KINDS_OF_BELIEVED.keys() == names("layers that Blender believes")
    code = _CURVES + how
    if how.endswith("data"):  # the scene had such a layer before
        result(_CURVES)
        for name, kind in _KINDS_OF_BELIEVED.items():
            bpy.data.hair_curves["c"].attributes.new(name, kind, "CURVE")
        code = "import bpy\nc = bpy.data.hair_curves['c']\n" + how
    for name, kind in _KINDS_OF_BELIEVED.items():
        with pytest.raises(Exception, match=f"believes whatever a layer '{name}' of .* says: use set_types"):
            result(code.replace("NAME", repr(name)).replace("KIND", repr(kind)))


def test_a_mesh_may_have_layers_of_these_names() -> None:
    made = "".join(
        f"m.attributes.new({name!r}, {kind!r}, 'POINT').data[0].value = 3\n"
        for name, kind in _KINDS_OF_BELIEVED.items()
    )
    assert result(f"{_START}{made}result = m.attributes['resolution'].data[0].value") == 3
