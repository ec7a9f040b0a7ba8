# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties that Blender limits take no NaN, in whatever way a script writes it."""

from __future__ import annotations

import array
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import bpy
import mathutils
import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender.access import SESSION, members
from bl_ext.user_default.mcp_bridge.sandbox.blender.plain_values import has_nan
from bl_ext.user_default.mcp_bridge.sandbox.blender.properties.limits import is_limited
from bl_ext.user_default.mcp_bridge.sandbox.growth.vectors import KINDS
from bl_ext.user_default.mcp_bridge.sandbox.run.undo import UndoStep

from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

NAN = float("nan")


def _properties() -> Iterator[tuple[type, Any, Any]]:
    """Every floating-point property that a script may write, with its type and the decision about it."""
    for name in sorted(dir(bpy.types)):
        kind = getattr(bpy.types, name)
        rna = getattr(kind, "bl_rna", None)
        if isinstance(kind, type) and rna is not None and rna.identifier == name:
            for prop in rna.properties:
                if prop.type == "FLOAT" and not issubclass(kind, SESSION):
                    access = members("blender").access(kind, prop.identifier)
                    if access.write is not None:
                        yield kind, prop, access


def test_each_limited_property_refuses_nan() -> None:
    seen = set()
    for kind, prop, access in _properties():
        if is_limited(kind, prop):
            assert access.limited
            assert not access.plain_write
            for value in (
                [[1.0] * (prop.array_length - 1) + [NAN], np.full(4, NAN)] if prop.is_array else [NAN]
            ):
                with pytest.raises(ValueError, match="not a number"):
                    access.write(None, object(), prop.identifier, value)
            seen.add(f"{kind.__name__}.{prop.identifier}")
    assert len(seen) > 1000
    assert {"Camera.lens", "Mesh.remesh_voxel_size", "Object.color", "SplinePoint.radius"} <= seen
    assert {"Keyframe.co", "FModifierGenerator.coefficients"} <= seen


def test_each_limited_vector_is_noted_when_a_script_reads_it() -> None:
    seen = set()
    for kind, prop, access in _properties():
        if is_limited(kind, prop) and prop.is_array and not issubclass(kind, _LOOKED_AT):
            host, vector = MagicMock(), mathutils.Vector((1.0, 2.0))
            if prop.subtype == "NONE":
                continue
            assert access.read is not None
            assert not access.plain_read
            access.read(host, SimpleNamespace(**{prop.identifier: vector}), prop.identifier)
            host.geometry.vectors.note.assert_called_once_with(vector)
            seen.add(f"{kind.__name__}.{prop.identifier}")
    assert len(seen) > 500
    assert {"Light.color", "Node.location", "ClothSettings.gravity"} <= seen


_LOOKED_AT = (bpy.types.Keyframe, bpy.types.FModifier)
"""Types whose numbers `growth.curves` looks at."""


def test_arrays_without_a_subtype_are_no_vectors() -> None:
    for size in (2, 3, 4, 9, 16):
        bpy.types.Scene.of_a_test = bpy.props.FloatVectorProperty(size=size, subtype="NONE")
        try:
            assert type(bpy.context.scene.of_a_test) not in KINDS
        finally:
            del bpy.types.Scene.of_a_test


def test_what_blender_does_not_limit_is_still_written_natively() -> None:
    unlimited = {
        f"{kind.__name__}.{prop.identifier}"
        for kind, prop, access in _properties()
        if access.plain_write and not is_limited(kind, prop)
    }
    assert {"Object.location", "Object.rotation_euler", "Object.scale", "MeshVertex.co"} <= unlimited


_WAYS = {
    "attribute": "camera.lens = nan",
    "of a known struct": "bpy.data.objects['Camera'].data.lens = nan",
    "setattr": "setattr(camera, 'lens', nan)",
    "augmented": "camera.lens += nan",
    "several targets": "camera.lens = other = nan",
    "loop": "for camera.lens in (nan,): pass",
    "unpacked": "camera.lens, other = nan, 1",
    "after others": "for each in [50.0] * 9 + [nan]: camera.lens = each",
    "numpy": "camera.lens = np.float32('nan')",
    "array of one": "camera.lens = np.array(nan)",
    "colour": "light.color = (1, nan, 1)",
    "vector": "node.location = mathutils.Vector((nan, 0))",
    "list of the script's": "cube.color = Own([1, 1, 1, nan])",
    "item": "cube.color[0] = nan",
    "slice": "cube.color[1:3] = (1, nan)",
    "augmented item": "cube.color[2] += nan",
    "array at once": "cube.color.foreach_set([1, 1, 1, nan])",
    "many": "points.foreach_set('radius', [1.0] * 99 + [nan])",
    "many of numpy": "points.foreach_set('radius', np.full(100, nan))",
    "many of an array": "points.foreach_set('radius', array.array('f', [nan] * 100))",
    "many keyframes": "keys.foreach_set('co', [1, nan])",
    "keyframe": "keys[0].co = (1, nan)",
    "handle": "keys[0].handle_left = (nan, 1)",
    "modifier of a curve": "keyed.modifiers.new('GENERATOR').coefficients = (nan, 0)",
    "weight": "cube.data.vertices[0].groups[0].weight = nan",
}
_START = """
import array, mathutils, numpy as np
class Own(list): pass
nan, D = float('nan'), bpy.data
camera, light, cube = D.cameras[0], D.lights[0], D.objects['Cube']
node = D.node_groups.new('n', 'ShaderNodeTree').nodes.new('ShaderNodeMath')
points = D.curves.new('c', 'CURVE').splines.new('POLY').points
points.add(99)
cube.vertex_groups.new(name='g').add([0], 1.0, 'REPLACE')
cube.keyframe_insert('location', index=0)
action = cube.animation_data.action
keyed = (action if bpy.app.version < (4, 4) else action.layers[0].strips[0].channelbags[0]).fcurves[0]
keys = keyed.keyframe_points
"""


@pytest.mark.parametrize("way", _WAYS)
def test_nan_is_an_error_of_the_script(way: str) -> None:
    with pytest.raises(HandlerError, match=r"ValueError: .* not a number: set a finite one"):
        result(_START + _WAYS[way])


_IN_PLACE = {
    "component": "light.color.r = nan",
    "of a vector": "node.location.x = nan",
    "item": "light.color[1] = nan",
    "slice": "light.color[1:] = (nan, nan)",
    "component of a vector that it keeps": "kept = light.color\nbpy.context.view_layer.update()\nkept.b = nan",
    "augmented": "colour = light.color\ncolour *= nan",
    "augmented component": "light.color.g += nan",
    "several components": "node.location.xy = nan, 1",
    "hue": "light.color.h = nan",
    "infinite": "colour = light.color\ncolour.r = 0\ncolour *= 1e300\ncolour *= 1e300",
    "setattr": "setattr(light.color, 'r', nan)",
    "loop": "for light.color.r in (nan,): pass",
    "path": "light.path_resolve('color').r = nan",
    "of a known struct": "bpy.data.lights[0].color.r = nan",
    "of many": "for each in range(500):\n    node.location.x = nan if each == 499 else each",
}


@pytest.mark.parametrize("way", _IN_PLACE)
@pytest.mark.parametrize(
    "after", ["", "\nbpy.ops.object.select_all()", "\nbpy.context.evaluated_depsgraph_get()"]
)
def test_nan_in_a_vector_of_blenders_ends_the_run(way: str, after: str) -> None:
    with pytest.raises(
        PolicyError, match=r"Light\.color|ShaderNodeMath\.location.* \(NaN\).*: set a finite one"
    ):
        result(f"{_START}{_IN_PLACE[way]}{after}")


@pytest.mark.parametrize("way", _IN_PLACE)
def test_a_failed_script_leaves_no_nan_to_the_roll_back(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def roll_back(step: UndoStep) -> None:
        seen.extend(bpy.data.lights[0].color)
        seen.extend(
            number for tree in bpy.data.node_groups for node in tree.nodes for number in node.location
        )
        rolled_back(step)

    rolled_back = UndoStep.roll_back
    monkeypatch.setattr(UndoStep, "roll_back", roll_back)
    with pytest.raises((HandlerError, PolicyError)):
        result(f"{_START}{_IN_PLACE[way]}\n1 / 0")
    assert seen
    assert not has_nan(seen)


def test_finite_numbers_are_written_to_vectors() -> None:
    assert result(
        _START
        + "light.color.r = 0.25\nlight.color[1] = 0.5\nlight.color *= 0.5\nnode.location.x = float('inf')\n"
        "node.location.x = 7\nbpy.data.node_groups.remove(node.id_data)\nresult = [*light.color]"
    ) == pytest.approx([0.125, 0.25, 0.5])


def test_all_other_numbers_are_written_as_always() -> None:
    assert result(
        _START + "for each in (60, 70.0, True, np.float32(80), np.array(90.0), float('inf'), 35):\n"
        "    camera.lens = each\n"
        "light.color, node.location = (1, 0.5, 0), mathutils.Vector((3, 4))\n"
        "cube.color[0] = 0.25\ncube.color[1:3] = (0.5, 0.75)\n"
        "points.foreach_set('radius', np.arange(100) * 0.5)\n"
        "result = [camera.lens, *light.color, *node.location, *cube.color[:3], points[4].radius]"
    ) == pytest.approx([35.0, 1.0, 0.5, 0.0, 3.0, 4.0, 0.25, 0.5, 0.75, 2.0])


def test_a_location_may_still_be_nan() -> None:
    assert (
        result("o = bpy.data.objects['Cube']\no.location.x = float('nan')\nresult = str(o.location.x)")
        == "nan"
    )


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (NAN, True),
        (1.0, False),
        (float("inf"), False),
        (10**400, False),
        ("nan", False),
        (None, False),
        (b"nan", False),
        ([1, 2.0, True], False),
        ([1, 10**400, 2.0], False),
        ([1, 10**400, NAN], True),
        ([float("inf"), -float("inf")], False),
        ([1.0] * 999 + [NAN], True),
        (((1.0, 0.0), (0.0, NAN)), True),
        ([{"loc": (0, NAN), "name": ""}], True),
        ({"a": {"b": [1, 2]}}, False),
        (array.array("d", [1, NAN]), True),
        (array.array("i", [1, 2]), False),
        (np.array([[1, 2], [3, NAN]]), True),
        (np.array(NAN), True),
        (np.float32(NAN), True),
        (np.arange(9), False),
    ],
)
def test_nan_is_found(value: Any, found: bool) -> None:
    assert has_nan(value) is found
