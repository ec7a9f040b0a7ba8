# SPDX-License-Identifier: GPL-3.0-or-later
"""What clients are told of failures, on the wire: of each tool, of each class of error, by each way to call a tool."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base import journal, main_thread
from bl_ext.user_default.mcp_bridge.base.errors import CANONICAL, BridgeError, InvalidParamsError, failure_of
from bl_ext.user_default.mcp_bridge.sandbox.execute import execute_blender_code
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.protocol.features import Tool, ToolHandler
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.tools import all_tools
from websockets.sync.client import connect

from support.clients.tool_calls import Tools, on_worker
from support.every_error import every_error

#: The tools that run a script, and the parameter that holds it.
SCRIPTS = {"execute_blender_code": "code", "inject_bpy_script": "script", "rehearse_script": "code"}
#: A way to call a tool: takes its name and arguments, and returns what a program reads of the answer.
Way = Callable[[str, dict[str, Any]], dict[str, Any]]


@pytest.fixture
def tools(empty_scene: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tools]:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path))
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    serving = Tools()
    yield serving
    serving.stop()


def _http(tools: Tools) -> Way:
    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = tools.raw(name, arguments)
        assert answer["isError"] is True
        assert answer["content"][0]["type"] == "text"
        return answer["structuredContent"]

    return call


def _websocket(tools: Tools) -> Way:
    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        start = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        asked = {"name": name, "arguments": arguments}
        answer = _say(
            tools,
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked},
        )
        assert answer["result"]["isError"] is True
        return answer["result"]["structuredContent"]

    return call


def _plain(tools: Tools) -> Way:
    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = _say(tools, {"type": name, "params": arguments})
        assert answer.pop("result") is None
        return answer

    return call


def _batch(tools: Tools) -> Way:
    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = tools.raw("batch", {"calls": [{"tool": name, "arguments": arguments}]})
        [result] = answer["structuredContent"]["results"]
        assert result["is_error"] is True
        return result["result"]

    return call


def _python(_tools: Tools) -> Way:
    def call(_name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        with pytest.raises(BridgeError) as caught:
            execute_blender_code(dict(zip(("code",), arguments.values(), strict=False)))
        return failure_of(caught.value)

    return call


def _say(tools: Tools, *messages: dict[str, Any]) -> dict[str, Any]:
    """The answer to the last of these messages, each sent when the one before was answered."""

    def talk() -> dict[str, Any]:
        url = f"ws://127.0.0.1:{tools.port}/mcp?token={tools.token}"
        with connect(url, subprotocols=["mcp"], max_size=None) as socket:  # type: ignore[list-item]
            for message in messages:
                socket.send(json.dumps(message))
                answer = json.loads(socket.recv(30))
        return answer

    return on_worker(talk)


WAYS = {"http": _http, "websocket": _websocket, "plain": _plain, "batch": _batch, "python": _python}
CLIENTS = {name: WAYS[name] for name in ("http", "websocket", "plain")}
NAMES = {kind.__name__ for kind in CANONICAL}


def _records() -> list[dict[str, Any]]:
    path = journal.current().path
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("way", CLIENTS)
def test_every_tool_answers_wrong_arguments_in_one_form(tools: Tools, way: str) -> None:
    call = CLIENTS[way](tools)
    for one in all_tools():
        told = call(one.name, {"no such parameter": 1})
        assert told["status"] == "error", one.name
        assert told["error"] == "InvalidParamsError", one.name
        assert "no such parameter" in told["message"], one.name


@pytest.mark.parametrize("way", CLIENTS)
def test_every_class_of_error_has_one_of_five_names(tools: Tools, way: str) -> None:
    errors = every_error()

    async def fail(_context: Any, arguments: dict[str, Any]) -> ToolResult:
        raise errors[arguments["index"]]

    call = _with_tool(tools, way, fail)
    for index, error in enumerate(errors):
        told = call("fail", {"index": index})
        assert told["error"] in NAMES
        assert told == json.loads(json.dumps(failure_of(error)))


class Ending(BaseException):
    """An exception that no `except Exception` catches."""


@pytest.mark.parametrize("where", ["event loop", "main thread"])
@pytest.mark.parametrize("way", CLIENTS)
def test_a_tool_that_raises_what_ends_programs_answers_and_the_server_goes_on(
    tools: Tools, way: str, where: str
) -> None:
    errors = [SystemExit("bye"), KeyboardInterrupt("bye"), Ending("bye")]

    def fail(index: int) -> ToolResult:
        raise errors[index]

    async def handler(_context: Any, arguments: dict[str, Any]) -> ToolResult:
        if where == "event loop":
            return fail(arguments["index"])
        return await asyncio.wrap_future(main_thread.run(lambda: fail(arguments["index"]), label="fail"))

    call = _with_tool(tools, way, handler)
    for index, error in enumerate(errors):
        told = call("fail", {"index": index})
        name = type(error).__name__
        assert (told["error"], told["cause"]) == ("HandlerError", name)
        assert told["message"] == f"fail failed: {name}: bye"


def _with_tool(tools: Tools, way: str, handler: ToolHandler) -> Way:
    """The way to call tools, once there is a tool `fail` with this handler and the parameter `index`."""
    running = bridge.current()
    assert running
    schema = {"type": "object", "properties": {"index": {"type": "integer"}}}
    on_worker(lambda: running.features.add(Tool(name="fail", input_schema=schema, handler=handler)))
    return CLIENTS[way](tools) if way != "http" else _unchecked(tools)


def _unchecked(tools: Tools) -> Way:
    """As `_http`, for a tool that is not one of the extension's own."""
    return lambda name, arguments: tools._request("tools/call", name, {"name": name, "arguments": arguments})[
        "result"
    ]["structuredContent"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "given", [None, "", " \n\t", 7, [1]], ids=["missing", "empty", "blank", "number", "list"]
)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_is_missing_empty_or_no_text_is_refused_and_recorded(
    tools: Tools, way: str, given: Any, name: str
) -> None:
    told = WAYS[way](tools)(name, {} if given is None else {SCRIPTS[name]: given})
    assert told["error"] == "InvalidParamsError"
    [record] = _records()
    assert (record["event"], record["error"]) == ("execute_refused", "InvalidParamsError")
    assert record["message"] == told["message"]
    assert record["requester"]
    if way != "python":
        assert record["tool"] == name


@pytest.mark.parametrize("way", CLIENTS)
def test_a_refused_script_is_recorded_with_what_was_found(tools: Tools, way: str) -> None:
    told = CLIENTS[way](tools)(
        "execute_blender_code", {"code": "import bpy\nbpy.data.images.load('/etc/passwd')", "title": "Load"}
    )
    assert (told["error"], told["line"]) == ("PolicyError", 2)
    record = _records()[-1]
    assert record["error"] == "PolicyError"
    assert record["line"] == 2


def test_a_journal_that_cannot_be_written_is_an_error_of_the_disk(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    monkeypatch.setattr(journal, "_current", journal.Journal(nowhere))
    for way in CLIENTS:
        told = CLIENTS[way](tools)("execute_blender_code", {"code": "result = 1"})
        assert (told["error"], told["cause"]) == ("ExternalServiceError", "JournalError")
    with pytest.raises(InvalidParamsError) as caught:
        execute_blender_code({})
    assert "cannot be written" in caught.value.__notes__[0]
