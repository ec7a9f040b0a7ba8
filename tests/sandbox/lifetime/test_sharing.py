# SPDX-License-Identifier: GPL-3.0-or-later
"""References to items of a mesh's arrays stay good when copies of the mesh had these arrays, too, and went."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender.layers.matrices import CRASHES, MATRICES

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_SETUP = (
    "m = bpy.context.object.data\nlayer = bpy.context.view_layer\n"
    "m.color_attributes.new('c', 'BYTE_COLOR', 'CORNER')\nm.attributes.new('f', 'FLOAT', 'POINT')\nlayer.update()\n"
    "def write(n):\n"
    "    m.vertices[1].co.x += 1\n    m.edges[1].vertices = 0, 1\n    m.polygons[1].select = m.loops[1].index > 9\n"
    "    m.attributes['f'].data[0].value = n\n    m.color_attributes['c'].data[0].color = n / 9, 0, 0, 0\n"
    "    m.uv_layers.active.data[0].uv = n, n\n    m.update()\n"
)
_COPIES = {
    "update": "layer.update()\nfor n in range(4):\n    write(n)\n    m.update_tag()\n    layer.update()\n",
    "frame": "for n in range(4):\n    write(n)\n    m.update_tag()\n    bpy.context.scene.frame_set(n)\n",
    "operator": "for n in range(4):\n    write(n)\n    m.update_tag()\n    bpy.ops.object.select_all()\n",
    "copy": "for n in range(4):\n    c = m.copy()\n    write(n)\n    bpy.data.meshes.remove(c)\n",
}
_HELD = {
    "vertex": ("m.vertices[3]", "x.co[:]"),
    "coordinates": ("m.vertices[3].co", "x[:]"),
    "edge": ("m.edges[3]", "x.vertices[:]"),
    "array": ("m.edges[3].vertices", "x[:]"),
    "face": ("m.polygons[3]", "x.vertices[:]"),
    "corner": ("m.loops[3]", "x.vertex_index"),
    "uv": ("m.uv_layers.active.data[3].uv", "x[:]"),
    "colour": ("m.color_attributes['c'].data[3]", "x.color[:]"),
    "value": ("m.attributes['f'].data", "x[3].value"),
    "loop": ("[(v, v) for v in m.vertices]", "[v.co[:] for v, _ in x[2:]]"),
}


@pytest.mark.parametrize("copies", _COPIES)
@pytest.mark.parametrize("held", _HELD)
def test_a_reference_follows_its_item(held: str, copies: str) -> None:
    take, use = _HELD[held]

    def run() -> Any:
        fork.overwrite_freed()
        again = use.replace("x", f"({take})", 1)
        return result(
            f"{_SETUP}x = {take}\nbefore = {use}\n{_COPIES[copies]}"
            f"result = [before == {use}, {use} == {again}]"
        )

    assert fork.run(run) == [True, True]


_TYPES = set(bpy.types.Attribute.bl_rna.properties["data_type"].enum_items.keys())
_TYPES -= MATRICES if CRASHES else set()


@pytest.mark.parametrize("kind", sorted(_TYPES))
def test_a_value_of_any_layer_follows(kind: str) -> None:
    def run() -> Any:
        fork.overwrite_freed()
        return result(
            "m = bpy.data.meshes.new('m')\nm.vertices.add(2000)\n"
            f"m.attributes.new('q', '{kind}', 'POINT')\nx = m.attributes['q'].data[700]\n"
            "name = 'vector' if hasattr(x, 'vector') else 'color' if hasattr(x, 'color') else 'value'\n"
            "def said(of): return repr(getattr(of, name)).split('(')[-1]\nbefore = said(x)\n"
            "for n in range(3):\n    c = m.copy()\n    y = m.attributes['q'].data[0]\n"
            "    setattr(y, name, getattr(y, name))\n    m.update()\n    bpy.data.meshes.remove(c)\n"
            "result = before == said(x) == said(m.attributes['q'].data[700])"
        )

    assert fork.run(run) is True


def test_what_is_written_reaches_the_mesh() -> None:
    assert result(
        f"{_SETUP}v = m.vertices[3]\nlayer.update()\nwrite(1)\nv.co = 7, 8, 9\nlayer.update()\n"
        "result = m.vertices[3].co[:]"
    ) == [7.0, 8.0, 9.0]
