# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry tells what changes."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.features import (
    Features,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
)


async def _nothing(*_: Any) -> Any:
    raise AssertionError


TOOL = Tool(name="a.b-c_1", input_schema={"type": "object"}, handler=_nothing)
RESOURCE = Resource(uri="a://1", name="one", read=_nothing)
TEMPLATE = ResourceTemplate(uri_template="a://{n}", name="n", read=_nothing)
PROMPT = Prompt(name="p", get=_nothing)


def test_each_changed_list_is_told_once() -> None:
    features, told = Features(), []
    stop = features.listen(lambda *news: told.append(news))
    features.add(TOOL, RESOURCE, TEMPLATE, PROMPT)
    assert told == [("list_changed", "prompts"), ("list_changed", "resources"), ("list_changed", "tools")]
    told.clear()
    features.remove(TOOL)
    features.remove(TOOL)
    features.resource_updated("a://1")
    features.resources_updated("a://")
    assert told == [("list_changed", "tools"), ("updated", "a://1"), ("updated_below", "a://")]
    stop()
    stop()
    features.remove(RESOURCE, TEMPLATE, PROMPT)
    assert len(told) == 3
    assert [*features.tools, *features.resources, *features.templates, *features.prompts] == []


def test_the_first_template_that_matches_wins() -> None:
    features = Features()
    features.add(TEMPLATE, ResourceTemplate(uri_template="a://{m}", name="m", read=_nothing))
    assert features.match("a://x") == (TEMPLATE, {"n": "x"})
    assert features.match("b://x") is None
    features.remove(TEMPLATE)
    found = features.match("a://x")
    assert found
    assert found[1] == {"m": "x"}


@pytest.mark.parametrize("name", ["", "a b", "ü", "x" * 129, "a/b"])
def test_names_that_clients_refuse_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="does not match"):
        Tool(name=name, input_schema={"type": "object"}, handler=_nothing)


def test_a_tool_takes_an_object() -> None:
    with pytest.raises(ValueError, match="must have type 'object'"):
        Tool(name="a", input_schema={"type": "string"}, handler=_nothing)
