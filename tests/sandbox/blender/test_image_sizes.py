# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way to make an image has the same limit of pixels, also with a side that Blender makes longer."""

from __future__ import annotations

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.blender.functions.checks import CHECKED
from bl_ext.user_default.mcp_bridge.sandbox.blender.image_sizes import OPERATORS
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_NEW = "image = bpy.data.images.new('a', 8, 8)\n"
_WAYS = {
    "new": "bpy.data.images.new('a', {0}, {1})",
    "new of floats": "bpy.data.images.new('a', width={0}, height={1}, float_buffer=True)",
    "scale": _NEW + "image.scale({0}, {1})",
    "width first": _NEW + "image.generated_width, image.generated_height = {0}, {1}",
    "height first": _NEW + "image.generated_height, image.generated_width = {1}, {0}",
    "operator": "bpy.ops.image.new(width={0}, height={1})",
    "operator for floats": "bpy.ops.image.new(width={0}, height={1}, float=True)",
    "operator that resizes": "bpy.ops.image.resize(size=({0}, {1}))",
}


@pytest.mark.parametrize("way", _WAYS.values(), ids=_WAYS)
@pytest.mark.parametrize(
    ("width", "height"), [(30_000, 30_000), (0, 2**31 - 1), (-1, 2**31 - 1), (2**31 - 1, 0), (2**31 - 1, -7)]
)
def test_no_way_makes_a_huge_image(way: str, width: int, height: int) -> None:
    with pytest.raises(LimitExceeded, match=r"an image of .* pixels is too large for a script"):
        result(way.format(width, height))


def test_floats_take_more_memory() -> None:
    with pytest.raises(LimitExceeded, match="an image of 8000 x 8000 pixels"):
        result(
            _NEW + "image.generated_width = image.generated_height = 8000\nimage.use_generated_float = True"
        )
    with pytest.raises(LimitExceeded, match="an image of 17000 x 1024 pixels"):
        result("bpy.ops.image.new(width=17_000, float=True)")


def test_usual_images_are_made() -> None:
    made = result("""
bpy.ops.image.new(name='b', width=2048, height=512)
image = bpy.data.images.new('a', 64, 32, float_buffer=True)
image.scale(16, 8)
result = [list(bpy.data.images['b'].size), list(image.size)]
""")
    assert made == [[2048, 512], [16, 8]]


def test_the_limit_knows_all_operators_and_functions_that_take_a_size_in_pixels() -> None:
    found = set()
    for idname in policy("blender").operators:
        module, _, name = idname.partition(".")
        if name in dir(getattr(bpy.ops, module)):
            taken = getattr(getattr(bpy.ops, module), name).get_rna_type().properties
            whole = {prop.identifier for prop in taken if prop.type == "INT"}
            found |= {idname} if {"width", "height"} <= whole or "size" in whole else set()
    assert found == OPERATORS
    for struct in dir(bpy.types):
        for function in getattr(getattr(getattr(bpy.types, struct), "bl_rna", None), "functions", ()):
            if {"width", "height"} <= set(function.parameters.keys()):
                path = f"{struct}.{function.identifier}"
                assert path in CHECKED or function.identifier not in policy("blender").callable(struct)
