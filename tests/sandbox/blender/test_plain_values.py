# SPDX-License-Identifier: GPL-3.0-or-later
"""A text that a script gives is checked as Blender reads it: up to its first null character."""

from __future__ import annotations

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender.plain_values import all_as_plain, as_plain

from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


class Text(str):
    """A text that says to be another."""

    __slots__ = ()

    def __str__(self) -> str:
        return "other"

    def __contains__(self, part: object) -> bool:
        return False


@pytest.mark.parametrize("kind", [str, Text])
def test_a_text_ends_where_blender_takes_it_to_end(kind: type[str]) -> None:
    for given, read in (("", ""), ("a", "a"), ("a\0", "a"), ("a\0b\0", "a"), ("\0a", "")):
        assert as_plain(kind(given)) == read
        assert type(as_plain(kind(given))) is str
        assert all_as_plain((kind(given),), {"name": kind(given)}) == ((read,), {"name": read})


@pytest.mark.parametrize("ending", ["", "\0", "\0x"])
def test_no_node_that_runs_code_is_made_by_a_longer_name(ending: str) -> None:
    made = "m = bpy.data.materials.new('m')\nm.use_nodes = True\nm.node_tree.nodes.new(NAME)"
    with pytest.raises(Exception, match="a ShaderNodeScript node runs code or works on files"):
        result(made.replace("NAME", repr("ShaderNodeScript" + ending)))
    result(made.replace("NAME", repr("ShaderNodeMath" + ending)))
    assert bpy.data.materials["m"].node_tree.nodes[-1].bl_idname == "ShaderNodeMath"
