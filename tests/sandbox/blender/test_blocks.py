# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluated copies and data-blocks that are part of others: neither written, nor removed, nor pointed to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender import blocks
from bl_ext.user_default.mcp_bridge.sandbox.blender.access import members
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_EVALUATED = "cube = bpy.data.objects['Cube'].evaluated_get(bpy.context.evaluated_depsgraph_get())\n"


def _structs() -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(bpy.types)):
        kind = getattr(bpy.types, name)
        if isinstance(kind, type) and getattr(getattr(kind, "bl_rna", None), "identifier", "") == name:
            yield name, kind


def _is_block(prop: Any) -> bool:
    kind = getattr(bpy.types, prop.fixed_type.identifier, object) if prop.type == "POINTER" else object
    return issubclass(kind, bpy.types.ID)


def test_each_property_that_points_to_a_block_is_looked_at() -> None:
    """A walk over all properties that a script may write."""
    found = 0
    for name, kind in _structs():
        for prop in kind.bl_rna.properties:
            if (
                _is_block(prop)
                and not prop.is_readonly
                and prop.identifier in policy("blender").writable(name)
            ):
                found += 1
                assert not members("blender").access(kind, prop.identifier).plain_write, (
                    name,
                    prop.identifier,
                )
    assert found > 100


def test_each_function_that_keeps_a_block_is_looked_at() -> None:
    """A walk over all functions that a script may call: what is not listed as looking only is taken to keep."""
    found = 0
    for name, kind in _structs():
        for function in kind.bl_rna.functions:
            path = f"{name}.{function.identifier}"
            if function.identifier in policy("blender").callable(name) and blocks.given_blocks(path):
                found += 1
                assert not members("blender").access(kind, function.identifier).plain_read, path
    assert found > 30


@pytest.mark.parametrize(
    "code",
    [
        "bpy.data.node_groups.remove(bpy.data.materials['Material'].node_tree)",
        "bpy.data.collections.remove(bpy.context.scene.collection)",
        "bpy.data.batch_remove([bpy.data.materials['Material'].node_tree])",
        "bpy.data.objects['Cube'].instance_collection = bpy.data.scenes.new('s').collection",
        "bpy.data.node_groups.new('g', 'ShaderNodeTree').nodes.new('ShaderNodeGroup').node_tree = "
        "bpy.data.materials['Material'].node_tree",
        "bpy.data.collections.new('c').children.link(bpy.data.scenes.new('s').collection)",
        "bpy.data.node_groups.new('g', 'ShaderNodeTree').user_remap(bpy.data.materials['Material'].node_tree)",
    ],
)
def test_part_of_another_block_stays_there(code: str) -> None:
    with pytest.raises(HandlerError, match=r"is part of another data-block and stays there: make a new one"):
        result(code)


def test_driver_may_read_a_node_tree_of_a_material() -> None:
    code = """
target = bpy.data.objects['Cube'].driver_add('location', 0).driver.variables.new().targets[0]
target.id_type = 'NODETREE'
target.id = bpy.data.materials['Material'].node_tree
result = target.id.name
"""
    assert result(code) == bpy.data.materials["Material"].node_tree.name


@pytest.mark.parametrize(
    "code",
    [
        "bpy.data.objects['Camera'].parent = cube",
        "bpy.data.objects['Camera'].constraints.new('TRACK_TO').target = cube",
        "bpy.data.objects.remove(cube)",
        "bpy.data.batch_remove([cube])",
        "bpy.data.meshes.new('m').materials.append(cube.material_slots[0].material)",
        "bpy.context.scene.camera = cube",
    ],
)
def test_evaluated_copy_is_given_to_nothing(code: str) -> None:
    with pytest.raises(
        HandlerError, match=r"'.*' is an evaluated copy, which Blender frees: use its .original"
    ):
        result(_EVALUATED + code)


@pytest.mark.parametrize(
    "code",
    [
        "cube.location.x = 1; cube.location = (1, 2, 3)",
        "setattr(cube, 'name', 'x')",
        "cube['a'] = 1",
        "cube.modifiers.new('s', 'SUBSURF')",
        "cube.vertex_groups.clear()",
        "cube.property_unset('location')",
        "bpy.context.evaluated_depsgraph_get().view_layer_eval.layer_collection.exclude = True",
        "bpy.context.evaluated_depsgraph_get().scene_eval.view_layers[0].layer_collection.hide_viewport = True",
        "bpy.context.view_layer.depsgraph.scene_eval.frame_start = 3",
    ],
)
def test_evaluated_copy_is_not_written(code: str) -> None:
    with pytest.raises(
        PolicyError, match=r"is an evaluated copy, which Blender makes anew: write to its .original"
    ):
        result(_EVALUATED + code)


def test_write_that_went_natively_is_looked_at_after_the_depsgraph_was_asked_for() -> None:
    code = """
def write(thing):
    thing.location = (1, 2, 3)
for _ in range(3):
    write(bpy.data.objects['Camera'])
"""
    with pytest.raises(PolicyError, match="'Cube' is an evaluated copy"):
        result(code + _EVALUATED + "write(cube)")


def test_originals_and_meshes_of_evaluated_objects_are_written_as_before() -> None:
    code = """
mesh = cube.to_mesh()
mesh.vertices[0].co.x = 3
new = bpy.data.meshes.new_from_object(cube)
bpy.data.objects['Cube'].data = new
bpy.data.objects['Cube'].location = (1, 2, 3)
bpy.data.objects['Cube'].parent = bpy.data.objects['Camera']
result = (mesh.vertices[0].co.x, new.vertices[0].co.x, tuple(bpy.data.objects['Cube'].location))
"""
    assert fork.run(result, _EVALUATED + code) == [3.0, 1.0, [1.0, 2.0, 3.0]]


@pytest.mark.parametrize("code", ["bpy.context.screen.copy()", "bpy.context.workspace.copy()"])
def test_blocks_of_the_session_are_not_copied(code: str) -> None:
    with pytest.raises(
        PolicyError, match="belongs to the user's session, not to the scene: leave it as it is"
    ):
        result(code)
