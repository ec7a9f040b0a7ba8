# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of custom properties that Blender frees say so, and those that are still there stay."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import custom_properties

from support.sandboxing.scripts import result

_OBJECT = "o = bpy.context.object\n"
_GROUP = f"{_OBJECT}o['g'] = {{'a': 1, 'b': {{'c': 2}}, 'l': [1, 2, 3]}}\n"
_ARMATURE = (
    "a = bpy.data.armatures.new('a')\no = bpy.data.objects.new('a', a)\n"
    "bpy.context.collection.objects.link(o)\nbpy.context.view_layer.objects.active = o\n"
    "bpy.ops.object.mode_set(mode='EDIT')\nb = a.edit_bones.new('b')\nb.tail = 0, 0, 1\n"
)
_POSED = f"{_ARMATURE}bpy.ops.object.mode_set(mode='OBJECT')\nb = o.pose.bones[0]\n"
_REMOVE = "bpy.data.objects.remove(o)"

#: What it needs, the part, what frees it.
GONE = {
    "object": (_GROUP, "o['g']", _REMOVE),
    "array": (_GROUP, "o['g']['l']", _REMOVE),
    "inner": (_GROUP, "o['g']['b']", _REMOVE),
    "by-get": (_GROUP, "o.get('g').get('b')", _REMOVE),
    "by-values": (_GROUP, "o.values()[-1].values()[1]", _REMOVE),
    "by-items": (_GROUP, "dict(o.items())['g'].items()[1][1]", _REMOVE),
    "by-path": (_GROUP, "o.path_resolve('[\"g\"]')", _REMOVE),
    "unguarded": (_GROUP, "dict(o)['g']", _REMOVE),
    "of-a-list": (f"{_OBJECT}o['g'] = [{{'a': 1}}, {{'b': 1}}]\n", "o['g'][1]", _REMOVE),
    "replaced-list": (f"{_OBJECT}o['g'] = [{{'a': 1}}, {{'b': 1}}]\n", "o['g'][1]", "o['g'] = 1"),
    "by-its-mesh": (_GROUP, "o['g']", "bpy.data.meshes.remove(o.data)"),
    "by-an-operator": (_GROUP, "o['g']", "bpy.ops.object.delete()"),
    "replaced": (_GROUP, "o['g']", "o['g'] = {'a': 1}"),
    "inner-replaced": (_GROUP, "o['g']['b']", "o['g']['b'] = 1"),
    "deleted": (_GROUP, "o['g']", "del o['g']"),
    "inner-deleted": (_GROUP, "o['g']['b']", "del o['g']['b']"),
    "popped": (_GROUP, "o['g']['b']", "o.pop('g')"),
    "inner-popped": (_GROUP, "o['g']['b']", "o['g'].pop('b')"),
    "cleared": (_GROUP, "o['g']['b']", "o['g'].clear()"),
    "updated": (_GROUP, "o['g']['b']", "o['g'].update({'b': {'d': 1}})"),
    "edit-bone": (f"{_ARMATURE}b['g'] = {{'a': 1}}\n", "b['g']", "a.edit_bones.remove(b)"),
    "left-edit-mode": (
        f"{_ARMATURE}b['g'] = {{'a': 1}}\n",
        "b['g']",
        "bpy.ops.object.mode_set(mode='OBJECT')",
    ),
    "pose-bone": (f"{_POSED}b['g'] = {{'a': 1}}\n", "b['g']", _REMOVE),
    "node": (
        "m = bpy.data.materials['Material']\nn = m.node_tree.nodes[0]\nn['g'] = {'a': 1}\n",
        "n['g']",
        "m.node_tree.nodes.remove(n)",
    ),
    "node-of-a-material": (
        "m = bpy.data.materials['Material']\nn = m.node_tree.nodes[0]\nn['g'] = {'a': 1}\n",
        "n['g']",
        "bpy.data.materials.remove(m)",
    ),
    "view-layer": (
        "s = bpy.context.scene\nv = s.view_layers.new('v')\nv['g'] = {'a': 1}\n",
        "v['g']",
        "s.view_layers.remove(v)",
    ),
}


pytestmark = pytest.mark.usefixtures("fresh_file")


@pytest.mark.parametrize("case", GONE)
def test_parts_that_are_gone_say_so(case: str) -> None:
    needs, part, frees = GONE[case]
    with pytest.raises(HandlerError, match=r"IDProperty(Group|Array) has been removed") as caught:
        result(f"{needs}x = {part}\n{frees}\nx[0 if hasattr(x, 'typecode') else 'a']")
    assert isinstance(caught.value.original, ReferenceError)


def test_a_part_that_an_expression_is_at_work_on_is_found() -> None:
    with pytest.raises(HandlerError, match="IDPropertyGroup has been removed"):
        result(f"{_GROUP}(o['g'], o.pop('g'))[0]['a']")


@pytest.mark.parametrize(
    "use",
    [
        "x['a'] = 1",
        "del x['a']",
        "x.get('a')",
        "x.update({'a': 1})",
        "x.pop('a')",
        "x.name",
        "x.to_dict()",
        "bpy.context.scene['h'] = x",
    ],
)
def test_every_use_of_a_group_that_is_gone_says_so(use: str) -> None:
    with pytest.raises(HandlerError, match="IDPropertyGroup has been removed"):
        result(f"{_GROUP}x = o['g']\n{_REMOVE}\n{use}")


@pytest.mark.parametrize("use", ["list(x)", "'a' in x", "dict(x)", "len(y)", "list(y)", "y[:]", "x == {}"])
def test_what_python_itself_asks_of_a_part_that_is_gone_says_so(use: str) -> None:
    with pytest.raises(HandlerError, match=r"IDProperty(Group|Array) has been removed"):
        result(f"{_GROUP}x, y = o['g'], o['g']['l']\n{_REMOVE}\n{use}")


def test_an_iterator_of_a_part_that_is_gone_ends() -> None:
    with pytest.raises(HandlerError, match="changed size"):
        result(f"{_GROUP}it = iter(o['g'])\nnext(it)\n{_REMOVE}\nnext(it)")


def test_parts_that_are_still_there_stay() -> None:
    """Those of the same data-block, of others, and of what a list or a function holds."""
    assert result(
        f"{_POSED}b['g'] = {{'a': {{'z': 1}}}}\nx = b['g']['a']\no['h'] = {{'a': 2}}\ny = [o['h']]\n"
        "o['l'] = [{'a': 3}]\nz = o['l'][0]\nw = (lambda g: lambda: g['a'])(o['h'])\n"
        "bpy.data.objects.remove(bpy.data.objects['Cube'])\no['k'] = {'b': 1}\no['k'] = 1\n"
        "bpy.ops.object.select_all(action='SELECT')\nbpy.ops.object.duplicate()\n"
        "b.constraints.remove(b.constraints.new('IK'))\nx['z'] += 4\n"
        "result = [b['g']['a']['z'], y[0]['a'], z['a'], w()]"
    ) == [5, 2, 3, 2]


def test_many_parts_are_let_go_of() -> None:
    parts = custom_properties.PropertyParts()
    scene: Any = bpy.context.scene
    scene["g"] = {"a": 1}
    kept = parts.give(scene, scene["g"])
    for _ in range(1000):
        parts.give(scene, scene["g"])
    assert len(parts.noted) <= 65
    assert id(kept) in parts.noted


def test_parts_of_evaluated_copies_are_given_as_plain_values() -> None:
    """When Blender frees these, nobody is told."""
    assert result(
        f"{_GROUP}o.update_tag()\nbpy.context.view_layer.update()\n"
        "e = o.evaluated_get(bpy.context.evaluated_depsgraph_get())\n"
        "result = [type(e['g']).__name__, type(e['g']['l']).__name__, e['g']['b']['c']]"
    ) == ["dict", "list", 2]


@pytest.mark.skipif(bpy.app.version >= (5, 2), reason="these are properties of their own since Blender 5.2")
@pytest.mark.parametrize(
    "frees", ["m.node_group = None", "s.socket_type = 'NodeSocketFloat'", "o.modifiers.remove(m)"]
)
def test_the_inputs_of_a_node_group_are_parts_too(frees: str) -> None:
    with pytest.raises(HandlerError, match="IDPropertyArray has been removed"):
        result(
            f"{_OBJECT}t = bpy.data.node_groups.new('g', 'GeometryNodeTree')\n"
            "s = t.interface.new_socket('v', in_out='INPUT', socket_type='NodeSocketVector')\n"
            f"m = o.modifiers.new('n', 'NODES')\nm.node_group = t\nx = m[s.identifier]\nx[0] = 2.0\n{frees}\nx[0]"
        )


# --- settings of custom properties --------------------------------------------------------------------------

_SETTINGS = f"{_OBJECT}o['a'] = 1\nu = o.id_properties_ui('a')\nu.update(min=-3, description='d')\n"


def test_settings_are_those_of_the_property_as_it_is_now() -> None:
    assert result(f"{_SETTINGS}o['a'] = 2.5\nresult = [type(u.as_dict()['min']).__name__]") == ["float"]
    assert result(
        f"{_SETTINGS}o['b'] = 1\nw = o.id_properties_ui('b')\nw.update_from(u)\nu.clear()\n"
        "result = [w.as_dict()['min'], u.as_dict()['min'] == -3]"
    ) == [-3, False]


@pytest.mark.parametrize(
    ("frees", "error"),
    [("del o['a']", KeyError), ("o['a'] = {}", TypeError), (_REMOVE, ReferenceError)],
)
@pytest.mark.parametrize(
    "use", ["u.as_dict()", "u.update(min=1)", "u.clear()", "bpy.context.scene.id_properties_ui('z')"]
)
def test_settings_of_a_property_that_is_gone_are_an_error(
    frees: str, error: type[Exception], use: str
) -> None:
    with pytest.raises(HandlerError) as caught:
        result(f"{_SETTINGS}{frees}\n{use}")
    assert isinstance(caught.value.original, KeyError if "scene" in use else error)


# --- numpy --------------------------------------------------------------------------------------------------


def test_numpy_is_given_copies_of_what_lies_in_blenders_memory() -> None:
    assert result(
        f"import bmesh\nimport numpy as np\n{_GROUP}x = np.asarray(o['g']['l'])\n{_REMOVE}\n"
        "m = bmesh.new()\nv = m.verts.new((1, 2, 3))\ny = np.asarray(v.co)\nv.co.x = 5\n"
        "result = [x.tolist(), y.tolist()]"
    ) == [[1, 2, 3], [1, 2, 3]]
