# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls tools as a client does: over a socket, while this thread is Blender's main thread."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, TypeVar

import fastjsonschema
import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread, settings
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.server import assembly, bridge
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult, failed
from bl_ext.user_default.mcp_bridge.server.tools import all_tools

__all__ = ("ToolError", "Tools", "on_worker", "outcome")

T = TypeVar("T")

VERSION = "2026-07-28"


async def outcome(call: Awaitable[ToolResult]) -> ToolResult:
    """Return a client's result for a call of a tool's function: a failure is a result, too."""
    try:
        return await call
    except BridgeError as error:
        return failed(error)


def facts_of(result: dict[str, Any]) -> Any:
    """Return a result's facts: its structure or, beside pictures, their text."""
    if "structuredContent" in result or not any(block["type"] == "image" for block in result["content"]):
        return result.get("structuredContent")
    texts = [block["text"] for block in result["content"] if block.get("text", "").startswith("{")]
    return json.loads(texts[-1]) if texts else None


class ToolError(Exception):
    """Tells that the tool answered `isError`; the message is its text."""


def on_worker(do: Callable[[], T]) -> T:
    """Call `do` in another thread while this one does Blender's work; return its result, or raise its error."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append((True, do()))
        except BaseException as error:
            outcome.append((False, error))
        main_thread.run(lambda: None)  # wakes the loop at once

    main_thread.start()
    thread = threading.Thread(target=work)
    thread.start()
    main_thread.pump(lambda: not outcome)
    thread.join()
    succeeded, value = outcome[0]
    if not succeeded:
        raise value
    return value


@cache
def _fits(tool: str) -> Callable[[Any], Any]:
    """Return a check of a tool's structured results. It raises JsonSchemaException."""
    [schema] = [one.output_schema for one in all_tools() if one.name == tool]
    if schema is None:
        return lambda _result: None
    return fastjsonschema.compile(schema or {}, use_formats=False)


class Tools:
    """A running bridge. `capabilities` are the client's; stop it with `stop`."""

    def __init__(self, **capabilities: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(assembly, "has_window", lambda: False)  # so that no user has to admit this client
            self._bridge = bridge.start(settings.current())
        self.port, self.token = self._bridge.port, self._bridge.token
        self.capabilities = capabilities
        #: More members of each call's `_meta`.
        self.meta: dict[str, Any] = {}

    def stop(self) -> None:
        bridge.stop()

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return a call's structured result. Raises ToolError."""
        result = self.raw(tool, arguments)
        if result.get("isError"):
            raise ToolError(result["content"][0]["text"])
        return facts_of(result)

    def raw(self, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Return the whole result of `tools/call`, which must fit the tool's output schema."""
        answer = self._request("tools/call", tool, {"name": tool, "arguments": arguments, **more})
        assert "result" in answer, answer
        result = answer["result"]
        if result.get("resultType") != "input_required" and not result.get("isError"):
            _fits(tool)(facts_of(result))
        return result

    def read(self, uri: str) -> dict[str, Any]:
        """Return the contents of a resource. Raises ToolError."""
        answer = self._request("resources/read", uri, {"uri": uri})
        if "error" in answer:
            raise ToolError(answer["error"]["message"])
        return answer["result"]["contents"][0]

    def _request(self, method: str, name: str, params: dict[str, Any]) -> dict[str, Any]:
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            **self.meta,
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        _, text = on_worker(lambda: self._post(name, body))
        line = next(
            (part[5:] for part in text.splitlines()[::-1] if part.startswith("data:") and "{" in part), text
        )
        return json.loads(line)

    def _post(self, name: str, body: dict[str, Any]) -> tuple[int, str]:
        headers = {
            "Authorization": f"Bearer {self._bridge.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": body["method"],
            "Mcp-Name": name,
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._bridge.port, timeout=60)
        connection.request("POST", "/mcp", json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text
