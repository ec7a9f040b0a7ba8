# SPDX-License-Identifier: GPL-3.0-or-later
"""An end of a zone that nothing begins is refused before Blender evaluates it: Blender 5.2 crashes."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.growth.zones import ZONES

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_START = """
tree = bpy.data.node_groups.new('t', 'GeometryNodeTree')
for side in ('INPUT', 'OUTPUT'):
    tree.interface.new_socket('Geometry', in_out=side, socket_type='NodeSocketGeometry')
new, link = tree.nodes.new, tree.links.new
into, out, store = new('NodeGroupInput'), new('NodeGroupOutput'), new('GeometryNodeStoreNamedAttribute')
store.inputs['Name'].default_value = 'stored'
bpy.data.objects['Cube'].modifiers.new('m', 'NODES').node_group = tree
def geometry(sockets): return [each for each in sockets if each.type == 'GEOMETRY' and each.enabled][0]
def linked(begin, end):
    link(into.outputs[0], geometry((begin or end).inputs))
    if begin: link(geometry(begin.outputs), geometry(end.inputs))
    link(geometry(end.outputs), store.inputs['Geometry'])
    link(store.outputs[0], out.inputs[0])
"""
_WRONG = {
    "end alone": "linked(None, new(END))",
    "linked first": "end = new(END)\nlinked(None, end)\nnew(BEGIN)",
    "beginning is removed": "end, begin = new(END), new(BEGIN)\nbegin.pair_with_output(end)\nlinked(begin, end)\n"
    "bpy.context.view_layer.update()\ntree.nodes.remove(begin)",
    "a second end": "end, begin = new(END), new(BEGIN)\nbegin.pair_with_output(end)\nlinked(None, new(END))",
    "paired with another": "end, begin, other = new(END), new(BEGIN), new(END)\nbegin.pair_with_output(end)\n"
    "begin.pair_with_output(other)\nlinked(None, end)",
    "of a copy": "linked(None, new(END))\nbpy.data.objects['Cube'].modifiers[0].node_group = tree.copy()",
    "in a group": "linked(None, new(END))\nouter = bpy.data.node_groups.new('o', 'GeometryNodeTree')\n"
    "for side in ('INPUT', 'OUTPUT'):\n"
    "    outer.interface.new_socket('Geometry', in_out=side, socket_type='NodeSocketGeometry')\n"
    "group, i, o = [outer.nodes.new(n) for n in ('GeometryNodeGroup', 'NodeGroupInput', 'NodeGroupOutput')]\n"
    "group.node_tree = tree\nouter.links.new(i.outputs[0], group.inputs[0])\n"
    "outer.links.new(group.outputs[0], o.inputs[0])\nbpy.data.objects['Cube'].modifiers[0].node_group = outer",
    "beginning is of a copy": "end, begin = new(END), new(BEGIN)\nbegin.pair_with_output(end)\nlinked(begin, end)\n"
    "other = tree.copy()\nother.nodes.remove(other.nodes[begin.name])\n"
    "bpy.data.objects['Cube'].modifiers[0].node_group = other",
}
_RIGHT = {
    "pair": "end, begin = new(END), new(BEGIN)\nbegin.pair_with_output(end)\nlinked(begin, end)",
    "other order": "begin, end = new(BEGIN), new(END)\nlinked(None, end)\nbegin.pair_with_output(end)\n"
    "linked(begin, end)",
    "unused": "new(END)",
    "beginning alone": "new(BEGIN)",
    "copy of a pair": "end, begin = new(END), new(BEGIN)\nbegin.pair_with_output(end)\nlinked(begin, end)\n"
    "bpy.data.objects['Cube'].modifiers[0].node_group = tree.copy()",
    "both removed": "end, begin = new(END), new(BEGIN)\nbegin.pair_with_output(end)\nlinked(begin, end)\n"
    "tree.nodes.remove(begin)\ntree.nodes.remove(end)",
}
_UPDATE = "\nbpy.context.view_layer.update()"
_OF_GEOMETRY = ["GeometryNodeRepeat", "GeometryNodeSimulation"]


def _script(zone: str, code: str) -> str:
    return f"BEGIN, END = '{zone}Input', '{zone}Output'{_START}{code}"


@pytest.mark.parametrize("zone", _OF_GEOMETRY)
@pytest.mark.parametrize("way", _WRONG)
@pytest.mark.parametrize("update", [_UPDATE, ""])
def test_an_end_without_a_beginning_is_refused(zone: str, way: str, update: str) -> None:
    with pytest.raises(
        PolicyError, match=r"ends a zone that nothing begins.*Input and call its pair_with_output"
    ):
        fork.run(result, _script(zone, _WRONG[way]) + update)


@pytest.mark.parametrize("zone", _OF_GEOMETRY)
@pytest.mark.parametrize("way", _WRONG)
def test_a_script_that_fails_is_rolled_back_before_blender_evaluates_it(zone: str, way: str) -> None:
    with pytest.raises(HandlerError, match="ZeroDivisionError"):
        fork.run(result, _script(zone, _WRONG[way]) + "\n1 / 0")


@pytest.mark.parametrize("zone", _OF_GEOMETRY)
@pytest.mark.parametrize("way", _RIGHT)
def test_zones_work(zone: str, way: str) -> None:
    fork.run(result, _script(zone, _RIGHT[way]) + _UPDATE)


def test_all_zones_that_a_script_can_pair_are_known() -> None:
    found = set()
    for name in dir(bpy.types):
        kind: Any = getattr(bpy.types, name)
        if name.endswith("Input") and "paired_output" in getattr(kind, "bl_rna", kind).properties:
            found.add(name.removesuffix("Input"))
    paired = {zone for zone in found if "pair_with_output" in policy("blender").callable(f"{zone}Input")}
    assert paired == found & ZONES
    assert found - paired <= {
        "GeometryNodeClosure"
    }  # an experimental node of Blender 4.5, which scripts may not make
    assert {"GeometryNodeRepeat", "GeometryNodeSimulation"} <= found
