# SPDX-License-Identifier: GPL-3.0-or-later
"""Half a pair of UTF-16 in each text of each message, over both transports: an error comes back, and life goes on."""

from __future__ import annotations

import asyncio
import copy
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.server.protocol import methods, peer
from bl_ext.user_default.mcp_bridge.server.protocol.context import RequestContext
from bl_ext.user_default.mcp_bridge.server.protocol.features import Prompt, Resource, Tool
from bl_ext.user_default.mcp_bridge.server.protocol.messages import content
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import RpcError

from support.bridges.live import Live
from support.bridges.protocol import handshake, notification, request, stateless

Json = dict[str, Any]

HALVES = ("\ud800", "x\udfffy", "\ude00\ud83d")
ODD = "a\udc80\ud800"  # as a file name that is no UTF-8 has in Python
#: Parameters with which each method has something to do.
PARAMS: dict[str, Json] = {
    "initialize": handshake(0)["params"],
    "ping": {},
    "logging/setLevel": {"level": "info"},
    "resources/subscribe": {"uri": "test://one"},
    "resources/unsubscribe": {"uri": "test://one"},
    "tools/list": {"cursor": "x"},
    "tools/call": {"name": "echo", "arguments": {"text": "x"}},
    "resources/list": {"cursor": "x"},
    "resources/templates/list": {"cursor": "x"},
    "resources/read": {"uri": "test://one"},
    "prompts/list": {"cursor": "x"},
    "prompts/get": {"name": "greet", "arguments": {"who": "x"}},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "who", "value": "x"},
    },
    "server/discover": {},
    "tasks/get": {"taskId": "x"},
    "tasks/update": {"taskId": "x", "inputResponses": {"a": {"action": "accept"}}},
    "tasks/cancel": {"taskId": "x"},
    "subscriptions/listen": {"notifications": {"toolsListChanged": True}},
    "no/such/method": {"a": "x"},
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as running:
        running.core.features.add(*_odd_features())
        yield running


def _messages() -> Iterator[Json]:
    for method, params in PARAMS.items():
        yield request("id", method, **params, _meta={"progressToken": "t"})
        yield stateless("id", method, **params, _meta={"progressToken": "t"})
        yield notification(method, **params)
    yield notification("notifications/cancelled", requestId="x", reason="y")
    yield {"jsonrpc": "2.0", "id": "x", "result": {"a": "b"}}
    yield {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "b", "data": "c"}}
    yield {"type": "echo", "params": {"text": "x"}}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each text: a key is marked by being in a tuple of its own."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, (key,))
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, (*path, index))
    elif isinstance(value, str):
        yield path


def _with(message: Json, path: tuple[Any, ...], half: str) -> Json:
    changed = copy.deepcopy(message)
    inner: Any = changed
    for step in path[:-1]:
        inner = inner[step]
    last = path[-1]
    if isinstance(last, tuple):
        inner[half] = inner.pop(last[0])
    else:
        inner[last] = half
    return changed


def _spoiled() -> Iterator[bytes]:
    for message in _messages():
        for number, path in enumerate(_paths(message)):
            yield json.dumps(_with(message, path, HALVES[number % len(HALVES)])).encode()


def test_the_walk_has_every_method() -> None:
    assert set(PARAMS) - {"no/such/method", "subscriptions/listen"} == {
        *methods.STATELESS_METHODS,
        *peer._HANDSHAKE,
    }


def test_a_websocket_answers_each_and_stays_open(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    with live.websocket() as opened:
        count = 0
        for spoiled in _spoiled():
            opened.send(spoiled.decode())
            error = json.loads(opened.recv(5))["error"]
            assert (error["code"], "half a pair" in error["message"]) == (-32700, True), spoiled
            count += 1
        opened.send(json.dumps(request(1, "ping")))
        assert json.loads(opened.recv(5))["result"] == {}
        assert count > 400
    assert not caplog.records


@pytest.mark.parametrize("in_session", [False, True])
def test_http_answers_each(live: Live, in_session: bool, caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Mcp_Session_Id": live.session()} if in_session else {"MCP_Protocol_Version": "2026-07-28"}
    for spoiled in _spoiled():
        status, _, body = live.post(spoiled, **headers)
        error = json.loads(body)["error"]
        assert (status, error["code"], "half a pair" in error["message"]) == (400, -32700, True), spoiled
    assert not caplog.records


# What goes out


def _odd_features() -> list[Any]:
    async def structured(_ctx: RequestContext, _arguments: Json) -> ToolResult:
        return ToolResult(structured={ODD: [ODD, {"b": ODD}]})

    async def blocks(ctx: RequestContext, _arguments: Json) -> ToolResult:
        ctx.log("error", ODD, ODD)
        await ctx.progress(1, 2, ODD)
        return ToolResult([content.text(ODD)])

    async def bridge_error(_ctx: RequestContext, _arguments: Json) -> ToolResult:
        raise PolicyError(ODD, code="test")

    async def rpc_error(_ctx: RequestContext, _arguments: Json) -> ToolResult:
        raise RpcError(-32000, ODD, {"why": ODD})

    async def other_error(_ctx: RequestContext, _arguments: Json) -> ToolResult:
        raise ValueError(ODD)

    async def job(ctx: RequestContext, _arguments: Json) -> ToolResult:
        await ctx.background("odd", ODD, wait_seconds=0)
        await asyncio.sleep(0.01)
        return ToolResult([content.text(ODD)])

    async def read(_ctx: RequestContext, uri: str) -> list[Json]:
        return [content.text_contents(uri, ODD)]

    async def get(_ctx: RequestContext, _arguments: Json) -> list[Json]:
        return [content.message("user", content.text(ODD))]

    handlers: list[Callable[..., Any]] = [structured, blocks, bridge_error, rpc_error, other_error, job]
    return [
        *(Tool(name=one.__name__, input_schema={"type": "object"}, handler=one) for one in handlers),
        Tool(name="odd", description=ODD, input_schema={"type": "object"}, handler=structured),
        Resource(uri="test://odd", name=ODD, read=read),
        Prompt(name="odd", description=ODD, get=get),
    ]


_OUT = [
    *(
        request(1, "tools/call", name=name)
        for name in "structured blocks bridge_error rpc_error other_error job".split()
    ),
    request(1, "resources/read", uri="test://odd"),
    request(1, "prompts/get", name="odd"),
    request(1, "tools/list"),
    request(1, "resources/list"),
    request(1, "prompts/list"),
]


@pytest.mark.parametrize("message", _OUT, ids=lambda one: one["params"].get("name", one["method"]))
def test_what_is_no_character_reaches_a_client_as_one(live: Live, message: Json) -> None:
    message["params"]["_meta"] = {"progressToken": 1}
    with live.websocket() as opened:
        opened.send(json.dumps(handshake(0)))
        opened.recv(5)
        opened.send(json.dumps(message))
        texts = [opened.recv(5)]
        while "id" not in json.loads(texts[-1]):
            texts.append(opened.recv(5))
    session = live.session()
    status, _, body = live.post(message, Mcp_Session_Id=session)
    assert status == 200
    for text in (*texts, body):
        assert "\\ud" not in text
    assert any("a\ufffd" in text for text in texts)
    assert "a\ufffd" in body


def test_the_oddity_is_what_file_names_give() -> None:
    assert os.fsdecode(b"\x80") == "\udc80"
