# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of nodes that a script may not add: those that this Blender has not finished, and those that crash it."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender.functions import checks
from bl_ext.user_default.mcp_bridge.sandbox.facts.members import names

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_MENUS = Path(bpy.utils.system_resource("SCRIPTS"), "startup", "bl_ui")


def _texts(nodes: list[ast.stmt]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def _experimental() -> set[str]:
    """The types of nodes that Blender's own menus show only with an experimental feature, and menus in them."""
    found: set[str] = set()
    for path in _MENUS.glob("node_add_menu*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        menus = {
            text: each
            for each in tree.body
            if isinstance(each, ast.ClassDef)
            for text in _texts(each.body[:2])
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "experimental" in ast.unparse(node.test):
                for text in _texts(node.body):
                    found |= set(_texts(menus[text].body)) if text in menus else {text}
                if "add_closure_zone" in ast.unparse(node):
                    found |= {"GeometryNodeClosureInput", "GeometryNodeClosureOutput"}
    return {text for text in found if _is_node(text)}


def _is_node(name: str) -> bool:
    kind: Any = getattr(bpy.types, name, None) if name.isidentifier() else None
    return isinstance(kind, type) and issubclass(kind, bpy.types.Node)


def test_what_blender_calls_experimental_is_refused() -> None:
    found = {name for name in _experimental() if not name.startswith("GeometryNodeImport")}
    if bpy.app.version < (5, 0):
        assert "GeometryNodeSampleGrid" in found
    assert found == {name for name in checks.EXPERIMENTAL_NODES if _is_node(name)}


@pytest.mark.parametrize("kind", sorted(checks.EXPERIMENTAL_NODES | checks.CRASHING_NODES))
@pytest.mark.parametrize("keyword", ["", "type="])
def test_such_a_node_is_refused(keyword: str, kind: str) -> None:
    with pytest.raises(PolicyError, match="may crash"):
        result(f"bpy.data.node_groups.new('t', 'GeometryNodeTree').nodes.new({keyword}{kind!r})")


_ENDS = frozenset({"GeometryNodeRepeatOutput", "GeometryNodeSimulationOutput"})
"""Ends of zones: one without a beginning crashes Blender 5.2; `growth/test_zones.py` tests that it is refused."""


def _types() -> list[str]:
    tree = bpy.data.node_groups.new("t", "GeometryNodeTree")
    found = []
    for name in dir(bpy.types):
        if _is_node(name) and name not in _ENDS | checks.EXPERIMENTAL_NODES | checks.CRASHING_NODES:
            with contextlib.suppress(RuntimeError):  # of another kind of tree
                tree.nodes.new(name)
                found.append(name)
    bpy.data.node_groups.remove(tree)
    return found


def _evaluate(kind: str) -> None:
    """Evaluate a node for a mesh and a curve, with numbers to all its inputs that are no index of anything."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    tree = bpy.data.node_groups.new("t", "GeometryNodeTree")
    for side in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=side, socket_type="NodeSocketGeometry")
    new, link = tree.nodes.new, tree.links.new
    into, out, store, number = map(
        new, ("NodeGroupInput", "NodeGroupOutput", "GeometryNodeStoreNamedAttribute", "FunctionNodeInputInt")
    )
    number.integer = -(10**9)
    node = new(kind)
    for socket in node.inputs:
        if socket.type == "GEOMETRY":
            link(into.outputs[0], socket)
        elif socket.type == "INT":
            link(number.outputs[0], socket)
    made = [socket for socket in node.outputs if socket.type == "GEOMETRY" and socket.enabled]
    link(made[0] if made else into.outputs[0], store.inputs["Geometry"])
    link(store.outputs[0], out.inputs[0])
    store.inputs["Name"].default_value = "stored"
    curve = bpy.data.curves.new("c", "CURVE")
    curve.splines.new("POLY").points.add(3)
    bpy.context.collection.objects.link(bpy.data.objects.new("c", curve))
    for owner in (bpy.data.objects["Cube"], bpy.data.objects["c"]):
        owner.modifiers.new("m", "NODES").node_group = tree
    for socket in node.outputs:
        if socket.type in _STORED and socket.enabled:
            store.data_type = _STORED[socket.type]
            for domain in ("POINT", "EDGE", "FACE", "CORNER", "CURVE"):
                store.domain = domain
                link(socket, next(each for each in store.inputs if each.name == "Value" and each.enabled))
                bpy.context.view_layer.update()
    bpy.context.view_layer.update()


_STORED = {
    "INT": "INT",
    "BOOLEAN": "BOOLEAN",
    "VALUE": "FLOAT",
    "VECTOR": "FLOAT_VECTOR",
    "RGBA": "FLOAT_COLOR",
}


@pytest.mark.timeout(300)  # it evaluates some hundred nodes: a busy machine takes more than a minute
def test_no_other_node_follows_an_index_that_nothing_has() -> None:
    kinds = fork.run(_types)
    assert len(kinds) > 150
    answers = fork.run_each(_evaluate, kinds, timeout=20)
    assert {
        kind: answer for kind, answer in zip(kinds, answers, strict=True) if isinstance(answer, fork.Died)
    } == {}


@pytest.mark.parametrize("kind", sorted(names("nodes that crash")))
def test_each_node_that_the_list_says_crashes_does_crash(kind: str) -> None:
    with pytest.raises(fork.Died):
        fork.run(_evaluate, kind)
