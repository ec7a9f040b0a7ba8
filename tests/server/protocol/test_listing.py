# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists show what is there and nothing that is empty."""

from __future__ import annotations

from typing import Any

from bl_ext.user_default.mcp_bridge.server.protocol import listing
from bl_ext.user_default.mcp_bridge.server.protocol.features import (
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    Tool,
)


async def _nothing(*_: Any) -> Any:
    raise AssertionError


def test_tool() -> None:
    schema = {"type": "object"}
    assert listing.tool(Tool(name="t", input_schema=schema, handler=_nothing)) == {
        "name": "t",
        "inputSchema": schema,
    }
    full = Tool(
        name="t",
        title="T",
        description="d",
        input_schema=schema,
        output_schema=schema,
        annotations={"readOnlyHint": False},
        icons=[{"src": "x"}],
        meta={"m": 1},
        handler=_nothing,
    )
    assert listing.tool(full) == {
        "name": "t",
        "title": "T",
        "description": "d",
        "inputSchema": schema,
        "annotations": {"readOnlyHint": False},
        "icons": [{"src": "x"}],
        "_meta": {"m": 1},
    }


def test_resource_and_template() -> None:
    resource = Resource(uri="a://1", name="one", mime_type="image/png", size=0, read=_nothing)
    assert listing.resource(resource) == {"uri": "a://1", "name": "one", "mimeType": "image/png", "size": 0}
    template = ResourceTemplate(
        uri_template="a://{n}", name="n", annotations={"priority": 1.0}, read=_nothing
    )
    assert listing.template(template) == {
        "uriTemplate": "a://{n}",
        "name": "n",
        "annotations": {"priority": 1.0},
    }


def test_prompt() -> None:
    prompt = Prompt(name="p", title="P", arguments=[PromptArgument(name="a", title="A")], get=_nothing)
    assert listing.prompt(prompt) == {
        "name": "p",
        "title": "P",
        "arguments": [{"name": "a", "title": "A", "required": False}],
    }
