# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model gets of a result, whichever habit its client has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.messages import content
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult, tool_result

PICTURE, NOTE = content.image(b"picture"), content.text("Left before, right after.")
FACTS = {"status": "success", "width": 64}


def shows_structure_alone(result: dict[str, Any]) -> list[Any]:
    """As Codex: the structure where there is one, else the content."""
    return [result["structuredContent"]] if "structuredContent" in result else result["content"]


def shows_structure_and_pictures(result: dict[str, Any]) -> list[Any]:
    """As Claude Code: texts give way to the structure."""
    if "structuredContent" not in result:
        return result["content"]
    pictures = [block for block in result["content"] if block["type"] == "image"]
    return [result["structuredContent"], *pictures]


def shows_content(result: dict[str, Any]) -> list[Any]:
    return result["content"]


@pytest.mark.parametrize("habit", [shows_structure_alone, shows_structure_and_pictures, shows_content])
def test_pictures_words_and_facts_reach_the_model(habit: Any) -> None:
    made = content.for_client(tool_result(ToolResult([PICTURE, NOTE], FACTS)), {"name": "any"})
    shown = habit(made)
    assert PICTURE in shown
    assert NOTE in shown
    assert FACTS in shown or json.dumps(FACTS, separators=(",", ":")) in [one.get("text") for one in shown]


@pytest.mark.parametrize(
    ("client", "habit"),
    [
        ("codex-mcp-client", shows_structure_alone),
        ("claude-code", shows_structure_and_pictures),
        ("x", shows_content),
    ],
)
def test_what_programs_read_keeps_its_structure_and_loses_no_picture(client: str, habit: Any) -> None:
    result = tool_result(ToolResult([NOTE, PICTURE], FACTS, meta={content.FOR_PROGRAMS: True}))
    assert PICTURE in habit(content.for_client(result, {"name": client}))
    assert content.for_client(result, None)["structuredContent"] == FACTS


@pytest.mark.parametrize("blocks", [[], [NOTE], [content.resource_link("a://1", "one")]])
def test_what_has_no_picture_stays_as_it_is(blocks: list[Any]) -> None:
    result = tool_result(ToolResult(blocks, FACTS))
    assert content.for_client(result, {"name": "codex"}) is result


def test_facts_that_are_told_already_are_not_told_twice() -> None:
    result = tool_result(ToolResult([content.text(json.dumps(FACTS, separators=(",", ":"))), PICTURE], FACTS))
    assert len(content.for_client(result, None)["content"]) == 2
