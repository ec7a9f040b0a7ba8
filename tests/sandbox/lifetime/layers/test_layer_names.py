# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that are too long: a walk over all functions of meshes and armatures that make something with a name."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender.functions import calls
from bl_ext.user_default.mcp_bridge.sandbox.blender.text_sizes import name_limit
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_NAMES = ("é" * 40, "€" * 300, "a" * 300, "é" * 31, "a" * 63, "", " ", ".x", "position")
_MAKERS = """
cube, scene = bpy.data.objects['Cube'], bpy.context.scene
mesh, bones = cube.data, bpy.data.armatures.new('a')
makers = [
    lambda n: mesh.vertex_colors.new(name=n), lambda n: mesh.uv_layers.new(name=n),
    lambda n: mesh.attributes.new(n, 'FLOAT', 'POINT'), lambda n: mesh.color_attributes.new(n, 'BYTE_COLOR', 'CORNER'),
    lambda n: cube.vertex_groups.new(name=n), lambda n: cube.modifiers.new(n, 'DISPLACE'),
    lambda n: cube.shape_key_add(name=n), lambda n: bones.collections.new(n), lambda n: scene.view_layers.new(n),
    lambda n: scene.timeline_markers.new(n), lambda n: scene.render.views.new(n),
    lambda n: bpy.data.actions.new(n).pose_markers.new(n), lambda n: bpy.data.masks.new(n).layers.new(name=n),
    lambda n: bpy.data.node_groups.new(n, 'GeometryNodeTree').interface.new_socket(n, socket_type='NodeSocketFloat'),
    *(lambda n, c=c: c.new(n) for c in (bpy.data.meshes, bpy.data.collections, bpy.data.materials, bpy.data.worlds)),
]
made = []
for make in makers:
    for name in NAMES:
        for _ in range(3):
            try:
                thing = make(name)
                made.append(thing is not None and len(thing.name) >= 0)
            except (RuntimeError, UnicodeDecodeError):
                made.append(False)
result = (len(makers), len(made), all(len(layer.name) for layer in mesh.vertex_colors))
"""


def test_names_that_are_too_long_take_nothing_down_and_are_cut_between_characters() -> None:
    makers, made, named = fork.run(result, f"NAMES = {_NAMES!r}\n" + _MAKERS)
    assert (made, named) == (makers * len(_NAMES) * 3, True)
    code = "result = bpy.data.objects['Cube'].data.vertex_colors.new(name='é' * 40).name"
    most = bpy.types.MeshLoopColorLayer.bl_rna.properties["name"].length_max
    assert result(code) == "é" * ((most - 1) // 2)


def test_each_function_that_makes_a_layer_has_a_limit() -> None:
    """A walk over all functions that are looked at already, as they may move what is held."""
    found = []
    for struct in dir(bpy.types):
        rna: Any = getattr(getattr(bpy.types, struct), "bl_rna", None)
        if rna is None or rna.identifier != struct or "new" not in policy("blender").callable(struct):
            continue
        if name_limit(f"{struct}.new") is not None and calls.freeing.frees(struct, "new"):
            found.append(struct)
    assert {"LoopColors", "UVLoopLayers"} <= set(found)
