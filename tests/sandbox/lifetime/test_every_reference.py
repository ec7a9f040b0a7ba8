# SPDX-License-Identifier: GPL-3.0-or-later
"""A script holds references to all parts of a scene, removes data-block after data-block, and uses what it holds."""

from __future__ import annotations

import contextlib

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork
from support.sandboxing import sandbox_cases
from support.sandboxing.scripts import finding
from support.scenes import references

#: Scenes that have much of different kinds in them.
_SCENES = (
    "animated_modifiers compositor_glare drivers_wheel gn_mesh_line_curve grease_pencil_or_annotation lattice_deform "
    "light_types nla_strip particles_grass product_shot rig_arm_ik rigid_body_dominoes shape_keys_smile "
    "soft_body_and_fields text_object_sign view_layers_holdout"
).split()
#: Those whose evaluated copies are held, too.
_EVALUATED = ("light_types", "drivers_wheel", "shape_keys_smile", "particles_grass")

_WALK = (
    references.GATHER
    + """
groups = []

def use(held):
    for value in held:
        try:
            repr(value)
            if isinstance(value, bpy.types.bpy_struct):
                for name in names(value):
                    getattr(value, name)
            else:
                list(value)
        except (ReferenceError, TypeError, ValueError, AttributeError, RuntimeError, IndexError):
            pass

bpy.data.scenes.new("last")
blocks = [
    (collection, block)
    for collection in (getattr(bpy.data, name) for name in COLLECTIONS)
    for block in collection
    if block.name != "last"
]
depsgraph = bpy.context.evaluated_depsgraph_get() if EVALUATED else None
for _collection, block in blocks:
    held = []
    gather(block, held)
    for name in ("node_tree", "compositing_node_group", "shape_keys", "collection"):
        inner = getattr(block, name, None)
        if isinstance(inner, bpy.types.ID):
            gather(inner, held)
    if EVALUATED and isinstance(block, bpy.types.Object):
        copy = block.evaluated_get(depsgraph)
        gather(copy, held)
        if copy.data is not None:
            gather(copy.data, held)
    groups.append(held)
count = sum(map(len, groups))
for (collection, block), held in zip(blocks, groups):
    try:
        collection.remove(block)
    except ReferenceError:
        pass  # it went with another
    if EVALUATED:
        bpy.context.view_layer.update()
    use(held)
for held in groups:
    use(held)
result = count
"""
)


def _collections() -> list[str]:
    """Those of `bpy.data` from which a script may remove."""
    rules = policy("blender")
    return [
        prop.identifier
        for prop in bpy.data.bl_rna.properties
        if prop.type == "COLLECTION"
        and prop.srna is not None
        and "remove" in rules.callable(prop.srna.identifier)
        and prop.identifier in rules.readable("BlendData")
    ]


def _walk(scene: str, evaluated: bool) -> int:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    with contextlib.suppress(AttributeError):  # another version's name: what was made until then has to do
        sandbox_cases.plain(next(case.code for case in sandbox_cases.honest() if case.id == scene), {})
    if bpy.context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    settings.set_preferences({"time_limit_s": 50.0})
    execute._rate.clear()
    given = {"NAMES": references.names(), "COLLECTIONS": _collections(), "EVALUATED": evaluated}
    fork.overwrite_freed()
    with finding(given):
        return int(execute.execute_blender_code({"code": _WALK})["result"])


@pytest.mark.parametrize(
    ("scene", "evaluated"), [*((name, False) for name in _SCENES), *((name, True) for name in _EVALUATED)]
)
def test_what_is_held_lives_or_says_that_it_was_removed(scene: str, evaluated: bool) -> None:
    references.names()
    try:
        assert fork.run(_walk, scene, evaluated) > 500
    except fork.Died as died:
        pytest.fail(f"a reference into the scene {scene!r} was used after its memory was freed: {died}")
