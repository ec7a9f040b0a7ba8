# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that a script gives to Blender are short enough for what Blender does with them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.blender.access import members
from bl_ext.user_default.mcp_bridge.sandbox.blender.text_sizes import LONGEST_LINE, MOST_CHARACTERS
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork


def run(code: str) -> Any:
    execute._rate.clear()
    return execute.execute_blender_code({"code": f"import bpy\n{code}"})["result"]


def _limit(code: str) -> str:
    try:
        run(code)
    except LimitExceeded as error:
        return str(error)
    return "no limit"


def _unlimited() -> Iterator[tuple[type, str]]:
    """Text properties that a script may write and that RNA does not limit."""
    rules = policy("blender")
    for name in dir(bpy.types):
        kind = getattr(bpy.types, name)
        for prop in getattr(getattr(kind, "bl_rna", None), "properties", ()):
            written = prop.identifier in rules.writable(name) and not prop.is_readonly
            if prop.type == "STRING" and written and not prop.length_max:
                yield kind, prop.identifier


def test_no_text_property_is_written_without_a_limit() -> None:
    access = members("blender").access
    found = list(_unlimited())
    assert len(found) > 20
    assert [(kind, name) for kind, name in found if access(kind, name).plain_write] == []


WRITTEN = [
    "t.write('a' * {0})",
    "t.from_string('a' * {0})",
    "t.lines[0].body = 'a' * {0}",
    "t.write('a' * {0} + chr(10))",
    "t.write(chr(10) + 'a' * {0})",
    "setattr(t.current_line, 'body', 'a' * {0})",
]


@pytest.mark.parametrize("statement", WRITTEN)
def test_lines_are_limited(statement: str) -> None:
    def longest() -> float:
        begin = time.perf_counter()
        run(f"t = bpy.data.texts.new('t')\n{statement.format(LONGEST_LINE)}")
        return time.perf_counter() - begin

    assert fork.run(longest) < 5
    message = fork.run(_limit, f"t = bpy.data.texts.new('t')\n{statement.format(LONGEST_LINE + 1)}")
    assert "a line of 20,001 characters in a Text is over the limit of 20,000: write several lines" in message


def test_long_texts_of_short_lines_are_written() -> None:
    code = "t = bpy.data.texts.new('t')\nt.write(('a' * 99 + chr(10)) * 10000)\nresult = len(t.lines)"
    assert fork.run(run, code) == 10_001


@pytest.mark.parametrize(
    "code",
    [
        "bpy.data.node_groups.new('g', 'GeometryNodeTree').nodes.new('FunctionNodeInputString').string = 'a' * 10 ** 6",
        "bpy.data.node_groups.new('g', 'GeometryNodeTree').interface.new_panel('p').description = 'a' * 10 ** 6",
        "bpy.context.object.lightgroup = 'a' * 10 ** 6",
        "bpy.ops.object.select_pattern(pattern='a' * 10 ** 6)",
        "bpy.ops.object.select_pattern(pattern=b'a' * 10 ** 6)",
        "bpy.ops.object.modifier_add_node_group(relative_asset_identifier='a' * 10 ** 6, asset_library_type='LOCAL')",
    ],
)
def test_single_texts_are_limited(code: str) -> None:
    assert f"over the limit of {MOST_CHARACTERS:,}" in fork.run(_limit, code)


def test_a_text_object_takes_a_few_letters_at_a_time() -> None:
    begin = "bpy.ops.object.text_add(enter_editmode=True)\n"
    assert fork.run(run, begin + "bpy.ops.font.text_insert(text='a' * 500)\nresult = 1") == 1
    for text in ("'a' * 5000", "b'a' * 5000"):  # operators take bytes, too
        assert "bpy.ops.font.text_insert() makes about" in fork.run(
            _limit, begin + f"bpy.ops.font.text_insert(text={text})"
        )
