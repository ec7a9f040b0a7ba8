# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypedDict

import fastjsonschema
import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.server import handlers, tools
from bl_ext.user_default.mcp_bridge.server.protocol.context import Era
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.tools.registry import hints, make, tool

from support.bridges.protocol import ALICE, core
from support.clients.tool_calls import outcome


class Count(TypedDict):
    count: int


@tool(title="Count Up", read_only=True)
def count_up(context: Any, start: int, step: int | None = None) -> Count:
    """Count.

    start: where to begin.
    """
    if start < 0:
        raise InvalidParamsError("start is below zero")
    assert threading.current_thread() is threading.main_thread()
    return {"count": start + (1 if step is None else step)}


@tool(title="Wait", destructive=True, output=Count)
async def wait_a_moment(context: Any) -> ToolResult:
    """Wait."""
    await asyncio.sleep(0)
    return ToolResult(structured={"count": threading.get_ident()})


def _run(function: Callable[..., Any], **arguments: Any) -> ToolResult:
    """Call a tool from an event loop in another thread, while this one is Blender's main thread."""
    made = make(function)
    call: Any = SimpleNamespace(cancelled=threading.Event(), client=ALICE, era=Era.HANDSHAKE)
    results: list[ToolResult] = []
    main_thread.start()
    thread = threading.Thread(
        target=lambda: results.append(
            asyncio.run(outcome(handlers.call_tool(core(), call, call, made, arguments)))
        )
    )
    thread.start()
    main_thread.pump(thread.is_alive)
    main_thread.stop()
    thread.join()
    return results[0]


def test_a_function_becomes_a_tool() -> None:
    made = make(count_up)
    assert (made.name, made.title, made.description) == ("count_up", "Count Up", "Count.")
    assert made.input_schema["required"] == ["start"]
    assert made.output_schema == {
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
    }
    assert made.annotations == {"readOnlyHint": True, "openWorldHint": False}
    assert make(wait_a_moment).annotations == {"openWorldHint": False}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((True, False, False, False), {"readOnlyHint": True, "openWorldHint": False}),
        ((True, False, False, True), {"readOnlyHint": True}),
        ((False, True, False, False), {"openWorldHint": False}),
        ((False, True, True, True), {"idempotentHint": True}),
        (
            (False, False, True, False),
            {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        ),
    ],
)
def test_only_what_a_client_would_not_assume_is_told(flags: Any, told: dict[str, bool]) -> None:
    """What MCP has a client assume: not read-only, destructive, not idempotent, open to the world."""
    assert hints(*flags) == told


def test_a_plain_function_runs_on_the_main_thread_and_whole_numbers_may_come_as_floats() -> None:
    assert _run(count_up, start=3.0, step=2.0).structured == {"count": 5}
    assert isinstance(_run(count_up, start=3.0).structured["count"], int)


def test_an_async_function_runs_on_the_event_loop() -> None:
    assert _run(wait_a_moment).structured != {"count": threading.get_ident()}


def test_an_error_of_the_function_reaches_whoever_called_the_tool() -> None:
    result = _run(count_up, start=-1)
    assert (result.is_error, result.structured["message"]) == (True, "start is below zero")


@pytest.mark.parametrize("made", tools.all_tools(), ids=lambda made: made.name)
def test_every_tool_is_described_and_its_schemas_compile(made: Any) -> None:
    assert made.title
    assert 20 < len(made.description) < 600
    fastjsonschema.compile(made.input_schema)
    if made.output_schema is not None:
        assert made.output_schema["type"] == "object"
        fastjsonschema.compile(made.output_schema)
