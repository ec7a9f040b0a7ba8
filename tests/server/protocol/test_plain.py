# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain commands are calls of tools."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol import plain
from bl_ext.user_default.mcp_bridge.server.protocol.context import Era
from bl_ext.user_default.mcp_bridge.server.protocol.features import Tool
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import RpcError

from support.bridges.protocol import ALICE, core


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
    ],
)
def test_an_invalid_command_names_the_mistake(message: dict[str, Any], says: str) -> None:
    with pytest.raises(RpcError, match=says):
        plain.read(core(), ALICE, message)


def test_answers() -> None:
    text = [{"type": "text", "text": "why"}, {"type": "image", "data": ""}]
    assert plain.success({"content": text}) == {"status": "success", "result": text, "message": None}
    assert plain.success({"content": text, "structuredContent": {"a": 1}})["result"] == {"a": 1}
    assert plain.success({"content": text, "isError": True}) == {
        "status": "error",
        "error": "HandlerError",
        "result": None,
        "message": "why",
    }
    assert plain.failure(RpcError(-32602, "why")) == {
        "status": "error",
        "error": "InvalidParamsError",
        "result": None,
        "message": "why",
    }


@pytest.mark.parametrize(
    ("structured", "answer"),
    [
        (
            {"status": "success", "result": 3, "stdout": "a"},
            {"status": "success", "result": 3, "stdout": "a", "message": None},
        ),
        (
            {"status": "success", "path": "a.blend"},
            {"status": "success", "result": {"path": "a.blend"}, "message": None},
        ),
        (
            {"status": "pending", "request_id": "r", "message": "wait"},
            {"status": "pending", "result": {"request_id": "r"}, "message": "wait"},
        ),
        ({"status": "success"}, {"status": "success", "result": None, "message": None}),
        (
            {"id": "j", "result": 1},
            {"status": "success", "result": {"id": "j", "result": 1}, "message": None},
        ),
    ],
)
def test_the_answer_has_one_status(structured: dict[str, Any], answer: dict[str, Any]) -> None:
    assert plain.success({"content": [], "structuredContent": structured}) == answer


def test_an_errors_kind_cause_and_line_stand_beside_its_message() -> None:
    told = {"status": "error", "error": "HandlerError", "cause": "ValueError", "message": "no", "line": 2}
    answer = plain.success({"content": [], "structuredContent": told, "isError": True})
    assert answer == {**told, "result": None}
