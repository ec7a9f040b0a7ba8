# SPDX-License-Identifier: GPL-3.0-or-later
"""No way to set a custom property nests groups deeper than the limit: Blender copies and saves them by recursion."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender.properties import custom_properties

from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_MOST = custom_properties._DEEPEST
_BEGIN = """
o = bpy.context.object
def nested(depth, inner=None, by=lambda d: {"a": d}):
    d = {} if inner is None else inner
    for _ in range(depth - 1):
        d = by(d)
    return d
o["x"] = nested(100)
def down(depth, get=lambda g: g["a"]):
    g = o["x"]
    for _ in range(depth - 1):
        g = get(g)
    return g
"""
#: Ways to a deep custom property: each makes one that is `{}` deep.
_WAYS = {
    "dict": "o['x'] = nested({})",
    "list": "o['x'] = nested({}, by=lambda d: [d])",
    "dicts and lists": "o['x'] = nested({} // 2, by=lambda d: {{'a': [d]}})",
    "tuple": "o['x'] = nested({}, by=lambda d: (d,))",
    "another class of dict": "import collections\no['x'] = nested({}, by=lambda d: collections.OrderedDict(a=d))",
    "at the bottom": "down(100)['a'] = nested({} - 100)",
    "at the bottom, got by get": "down(100, lambda g: g.get('a'))['a'] = nested({} - 100)",
    "at the bottom, got by values": "down(100, lambda g: g.values()[0])['a'] = nested({} - 100)",
    "at the bottom, got by items": "down(100, lambda g: g.items()[0][1])['a'] = nested({} - 100)",
    "at the bottom, unguarded": "down(100, lambda g: dict(g)['a'])['a'] = nested({} - 100)",
    "update": "down(100).update({{'a': nested({} - 100)}})",
    "a group": "down(100)['a'] = down(101 - {} + 100) if {} <= 200 else o['x']\n"
    "if {} > 200: down(200)['a'] = {{}}",
    "a group in a dict": "o['x'] = nested({} - 99, o['x'])",
    "a group in a list": "o['x'] = nested({} - 99, o['x'], by=lambda d: [d])",
    "as a dict": "o['x'] = nested({} - 99, o['x'].to_dict())",
    "of another data-block": "bpy.context.scene['x'] = nested({} - 99, o['x'])",
    "one by one": "g = o['x']\nfor _ in range({} - 1):\n    g['a'] = {{}} if 'a' not in g else g['a']\n    g = g['a']",
    "in a list of groups": "o['x'] = [{{}}]\no['x'][0]['a'] = nested({} - 2)",
    "of a bone": "a = bpy.data.armatures.new('a')\nb = bpy.data.objects.new('a', a)\n"
    "bpy.context.collection.objects.link(b)\nbpy.context.view_layer.objects.active = b\n"
    "bpy.ops.object.mode_set(mode='EDIT')\nb = a.edit_bones.new('b')\nb['x'] = {{'a': {{}}}}\n"
    "b['x']['a']['a'] = nested({} - 2)",
}


@pytest.mark.parametrize("way", _WAYS)
def test_each_way_has_the_same_limit(way: str) -> None:
    script = _WAYS[way]
    result(_BEGIN + script.replace("{} // 2", str(_MOST // 2)).format(*[_MOST] * 3))
    deeper = _BEGIN + script.replace("{} // 2", str(_MOST // 2 + 1)).format(*[_MOST + 1] * 3)
    with pytest.raises(LimitExceeded, match="nested this deeply"):
        result(deeper)


@pytest.mark.parametrize("holder", ["collections.deque([{}])", "[collections.deque()]"])
def test_a_container_that_is_no_dict_or_list_is_not_taken(holder: str) -> None:
    with pytest.raises(HandlerError, match="takes a dict, list or tuple") as caught:
        result(f"import collections\nbpy.context.object['x'] = {holder}")
    assert isinstance(caught.value.original, TypeError)


@pytest.mark.parametrize("value", ["{}", "[{}]", "{{'a': {}}}"])
@pytest.mark.parametrize(
    ("of_class", "method", "refusal"),
    [
        ("dict", "values", "a custom property takes a plain dict"),
        ("list", "__iter__", r"would run Own.__iter__\(\)"),
    ],
)
def test_no_method_of_a_class_of_the_script_decides_what_is_set(
    of_class: str, method: str, refusal: str, value: str
) -> None:
    script = f"class Own({of_class}):\n    def {method}(self): return iter(())\n"
    with pytest.raises(PolicyError, match=refusal):
        result(f"{script}bpy.context.object['x'] = {value.format('Own()')}")


def test_groups_that_stand_for_endless_ones_are_refused() -> None:
    script = "o = bpy.context.object\no['x'] = {'a': [1, 2]}\nfor _ in range(60): o['x'] = {'a': o['x'], 'b': o['x']}"
    with pytest.raises(LimitExceeded, match="this large"):
        result(script)


@pytest.mark.parametrize(
    "value",
    ["1", "'a'", "[1, 2]", "[1.5] * 3", "{'a': {'b': [1, 2]}}", "bpy.context.scene", "mathutils.Vector((1, 2, 3))",
     "[{'a': 1}, {'b': 2}]", "array.array('f', [1, 2])", "b'a'", "range(3)", "[[1, 2], [3, 4]]"],
)  # fmt: skip
def test_what_is_not_deep_is_set_as_by_blender(value: str) -> None:
    """In a group and in a struct, with what Blender itself makes of it."""

    def shown(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(shown, value)]
        return (
            value.to_dict()
            if hasattr(value, "to_dict")
            else value[:]
            if hasattr(value, "typecode")
            else value
        )

    def both() -> Any:
        cube: Any = bpy.context.object
        return str([shown(cube["x"]), shown(cube["g"]["x"])])

    code = f"import array, mathutils\no = bpy.context.object\nv = {value}\no['x'] = v\no['g'] = {{}}\no['g']['x'] = v"
    result(code)
    found = both()
    exec("import bpy\n" + code, {})
    assert found == both()
