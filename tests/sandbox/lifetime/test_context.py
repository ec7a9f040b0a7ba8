# SPDX-License-Identifier: GPL-3.0-or-later
"""The context belongs to no data-block: Blender 4.2 notes a scene there, and leaves it when the scene is freed."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import layout

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_USES = [
    "d = bpy.context.evaluated_depsgraph_get()\nd.update()\nresult = d.id_data",
    "result = bpy.context.id_data",
    "result = bpy.context.evaluated_depsgraph_get().id_data",
    "d = bpy.context.evaluated_depsgraph_get()\nresult = next((i.id_data for i in d.object_instances), None)",
    "bpy.context.view_layer.update()\nresult = bpy.context.id_data",
]


def _read_and_leave(use: str) -> Any:
    """What a script gets after an earlier reader of the context, whose scene went with its file."""
    fork.overwrite_freed()
    for name in ("layer_collection", "tool_settings"):
        getattr(bpy.context, name)
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    return result(use)


def _in_one_run(use: str) -> Any:
    fork.overwrite_freed()
    take = "scene = bpy.context.scene\nheld = [bpy.context.layer_collection, bpy.context.tool_settings]\n"
    gone = "bpy.data.scenes.new('other')\nbpy.data.scenes.remove(scene)\n"
    return result(take + gone + use)


@pytest.mark.parametrize("use", _USES)
@pytest.mark.parametrize("before", [_read_and_leave, _in_one_run])
def test_no_freed_scene_is_read_through_the_context(before: Any, use: str) -> None:
    assert fork.run(before, use) is None


def test_the_contexts_data_block_is_taken_away() -> None:
    for name in ("layer_collection", "tool_settings"):
        getattr(bpy.context, name)
    assert result("result = bpy.context.id_data") is None
    assert layout.pointers(bpy.context).block == 0
