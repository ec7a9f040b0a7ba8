# SPDX-License-Identifier: GPL-3.0-or-later
"""No F-curve gives Blender NaN or infinity, however a script has written its keyframes and modifiers.

Blender itself writes infinity as 3.4e38.
"""

from __future__ import annotations

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_CURVE = """
o = bpy.context.object
m = o.modifiers.new("b", "BEVEL")
for at in (1, 10, 20):
    o.keyframe_insert('modifiers["b"].width', frame=at)
a = o.animation_data.action
cs = a.fcurves if hasattr(a, "fcurves") else a.layers[0].strips[0].channelbags[0].fcurves
c = cs[0]
k = c.keyframe_points[1]
"""
#: Ways to write a number into a curve.
_WAYS = {
    "co": "k.co = 10, {}",
    "item of co": "k.co[1] = {}",
    "y of co": "k.co.y = {}",
    "vector that is held": "v = k.co\nbpy.context.view_layer.update()\nv[1] = {}",
    "co_ui": "k.co_ui = 10, {}",
    "left handle": "k.handle_left = 5, {}",
    "right handle": "k.handle_right[1] = {}",
    "foreach_set": "c.keyframe_points.foreach_set('co', [1, 0, 10, {}, 20, 0])",
    "foreach_set of an array": "import array\nn = array.array('f', [1, 0, 10, {}, 20, 0])\n"
    "c.keyframe_points.foreach_set('co', n)",
    "foreach_set of handles": "c.keyframe_points.foreach_set('handle_left', [1, 0, 10, {}, 20, 0])",
    "setattr": "setattr(k, 'co', (10, {}))",
    "polynomial": "g = c.modifiers.new('GENERATOR')\ng.coefficients[0] = {}",
    "function": "g = c.modifiers.new('FNGENERATOR')\ng.value_offset = {}",
    "noise": "g = c.modifiers.new('NOISE')\ng.strength = {}",
    "another path": "o.location.x = {0}\no.keyframe_insert('location', index=0)\n"
    "for d in list(cs):\n    if d.data_path == 'location':\n        d.data_path = 'modifiers[\"b\"].width'",
}


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("follows", ["bpy.context.scene.frame_set(10)", ""])
def test_a_value_that_is_not_finite_is_refused(way: str, value: str, follows: str) -> None:
    def attempt() -> str:
        try:
            result(_CURVE + _WAYS[way].replace("{0}", "{}").format(f"float({value!r})") + f"\n{follows}")
        except BridgeError as error:
            return str(error)
        return "made"

    found = fork.run(attempt)
    assert "finite" in found or "must be in range" in found or "not a number" in found, found


@pytest.mark.parametrize("way", _WAYS)
def test_a_finite_value_is_accepted(way: str) -> None:
    result(_CURVE + _WAYS[way].replace("{0}", "{}").format("0.25") + "\nbpy.context.scene.frame_set(10)")
    assert bpy.context.scene.frame_current == 10


def test_the_message_names_the_curve_and_its_action() -> None:
    with pytest.raises(BridgeError, match=r"F-curve of 'modifiers\[\"b\"\]\.width' in action 'CubeAction'"):
        result(_CURVE + _WAYS["vector that is held"].format("float('nan')"))
