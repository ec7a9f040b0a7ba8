# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain commands are calls of tools."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.mcp import plain
from bl_ext.user_default.mcp_bridge.server.mcp.context import Era
from bl_ext.user_default.mcp_bridge.server.mcp.errors import RpcError
from bl_ext.user_default.mcp_bridge.server.mcp.features import Tool

from support.protocol import ALICE, core


def test_a_command_is_a_call() -> None:
    call, _ = plain.read(core(), ALICE, {"type": "echo", "params": {"text": "a"}})
    assert (call.era, call.request_id, call.client) == (Era.PLAIN, None, ALICE)
    assert call.params == {"name": "echo", "arguments": {"text": "a"}}


def test_execute_code_is_another_name() -> None:
    served = core()

    async def handler(*_: Any) -> Any:
        raise AssertionError

    served.features.add(Tool(name="execute_blender_code", input_schema={"type": "object"}, handler=handler))
    call, _ = plain.read(served, ALICE, {"type": "execute_code", "params": {"code": "1"}})
    assert call.params["name"] == "execute_blender_code"


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"type": 5}, "type: must be the name of a command"),
        ({"type": "echo", "params": []}, "params: must be an object"),
        ({"type": "no"}, "Unknown tool: no"),
        ({"type": "echo", "params": {}}, "'text' is missing"),
    ],
)
def test_what_is_wrong_is_named(message: dict[str, Any], says: str) -> None:
    with pytest.raises(RpcError, match=says):
        plain.read(core(), ALICE, message)


def test_answers() -> None:
    text = [{"type": "text", "text": "why"}, {"type": "image", "data": ""}]
    assert plain.success({"content": text}) == {"status": "success", "result": text, "message": None}
    assert plain.success({"content": text, "structuredContent": {"a": 1}})["result"] == {"a": 1}
    assert plain.success({"content": text, "isError": True}) == {
        "status": "error",
        "result": None,
        "message": "why",
    }
    assert plain.failure("why") == {"status": "error", "result": None, "message": "why"}
