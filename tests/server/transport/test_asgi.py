# SPDX-License-Identifier: GPL-3.0-or-later
"""One port, real sockets, real clients: who is let in, what is refused, and what every client can do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp
import pytest
from bl_ext.user_default.mcp_bridge.server.clients.token_store import TokenStore
from mcp_types import CreateMessageResult, ElicitResult, TextContent
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from support.bridges.live import OTHER, TOKEN, Live, http_transport, until, websocket_transport
from support.bridges.protocol import handshake, request, stateless
from support.clients import foreign

Json = dict[str, Any]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as running:
        yield running


# Addresses, methods and connections


@pytest.mark.parametrize(
    ("headers", "status", "says"),
    [
        ({}, 401, "A token is needed"),
        ({"Authorization": "Bearer wrong"}, 401, "This token is not known"),
        ({"Authorization": "Basic x"}, 401, "must be 'Bearer <token>'"),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403, "web pages may not"),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 403, "is not allowed"),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:1:80"}, 403, "is not allowed"),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "\xa0http://localhost:1"}, 403, "web pages may not"),
    ],
)
def test_the_door_is_the_same_for_both_transports(live: Live, headers: Json, status: int, says: str) -> None:
    fields = {name.replace("-", "_"): value for name, value in headers.items()}
    for method in ("POST", "GET", "DELETE"):
        found, answered, body = live.request(method, "/mcp", b"not even json", token=None, **fields)
        assert (found, says in body) == (status, True)
        assert answered.get("www-authenticate") == ("Bearer" if status == 401 else None)
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    found, _, body = live.request("GET", "/mcp", token=None, **upgrade, **fields)
    assert (found, says in body) == (status, True)


def test_a_refused_body_is_not_read(live: Live) -> None:
    head = f"POST /mcp HTTP/1.1\nHost: 127.0.0.1:{live.port}\nContent-Length: 1000000000\n"
    with live.raw(head) as connection:
        assert connection.recv(4096).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("how", ["header", "query", "subprotocol"])
def test_ways_to_bring_a_token(live: Live, how: str) -> None:
    url = f"ws://127.0.0.1:{live.port}/mcp"
    options: Json = {"subprotocols": ["mcp"]}
    if how == "header":
        options["additional_headers"] = {"Authorization": f"Bearer {TOKEN}"}
    elif how == "query":
        url += f"?token={TOKEN}"
    else:
        options["subprotocols"] = ["mcp", f"mcp.token.{TOKEN}"]
    with connect(url, **options) as opened:
        assert opened.subprotocol == "mcp"
        opened.send(json.dumps(request(1, "ping")))
        assert json.loads(opened.recv())["result"] == {}


def test_health_needs_no_token_but_our_name(live: Live) -> None:
    status, _, body = live.request("GET", "/health", token=None)
    assert (status, json.loads(body)) == (200, {"status": "ok", "product": "mcp_bridge"})
    assert live.request("GET", "/health", token=None, Host="evil.example")[0] == 403
    assert live.request("GET", "/health", token=None, Origin="https://evil.example")[0] == 403
    assert live.request("POST", "/health", b"", token=None)[0] == 405


def test_metrics_need_a_token(live: Live) -> None:
    assert live.request("GET", "/metrics", token=None)[0] == 401
    status, headers, body = live.request("GET", "/metrics")
    assert (status, body) == (200, "up 1\n")
    assert headers["content-type"].startswith("text/plain; version=0.0.4")


def test_a_revoked_client_is_told_so_in_the_answer_to_its_request(tmp_path: Path) -> None:
    """Not by a 401, of whose text clients show nothing."""
    store = TokenStore(tmp_path / "clients.json")
    entry, token = store.mint("Cursor")
    store.revoke(entry.id)
    first = json.dumps(handshake(7)).encode()
    with Live(tmp_path) as live:
        status, _, body = live.request("POST", "/mcp", first, token=token)
        answer = json.loads(body)
        assert (status, answer["id"]) == (200, 7)
        assert "The token of 'Cursor' was revoked in Blender." in answer["error"]["message"]
        notification = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
        for refused in (b"", b"[]", b"{", notification, json.dumps(request(1, "x" * 70_000)).encode()):
            assert live.request("POST", "/mcp", refused, token=token)[0] == 401
        assert live.request("GET", "/mcp", token=token)[0] == 401
        assert live.request("POST", "/mcp", first, token="unknown")[0] == 401


def test_elsewhere_is_nothing(live: Live) -> None:
    assert live.request("GET", "/")[0] == 404
    assert live.request("PUT", "/mcp", b"")[:1] == (405,)
    with pytest.raises(InvalidStatus) as refused, connect(f"ws://127.0.0.1:{live.port}/other"):
        pass
    assert refused.value.response.status_code == 404


def test_connections_are_bounded(tmp_path: Path) -> None:
    """One client may have half of what the others leave: whoever comes next finds a place."""
    with Live(tmp_path, max_connections=4) as live, live.websocket(), live.websocket() as second:
        with pytest.raises(InvalidStatus) as refused, live.websocket():
            pass
        assert refused.value.response.status_code == 503
        status, headers, body = live.post(request(1, "ping"))
        assert (status, headers["retry-after"]) == (503, "1")
        assert "Busy: this client has 2 of 4 connections open, which is its share" in body
        assert live.request("GET", "/health")[0] == 200
        with connect(f"ws://127.0.0.1:{live.port}/mcp?token={OTHER}"):
            until(lambda: live.app.connections == 3)
            assert live.post(request(1, "ping"), token=OTHER)[0] == 503
        until(lambda: live.app.connections == 2)
        second.close()
        until(lambda: live.app.connections == 1)
        with live.websocket() as third:
            third.send(json.dumps(request(1, "ping")))
            assert json.loads(third.recv())["id"] == 1


def test_who_is_connected(live: Live) -> None:
    assert live.app.clients() == []
    with live.websocket(), connect(f"ws://127.0.0.1:{live.port}/mcp?token={OTHER}"):
        until(lambda: live.app.clients() == ["Alice", "Bob"])
    until(lambda: live.app.clients() == [])


# Real clients


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_python_sdk_2(live: Live, transport: str, mode: str) -> None:
    asyncio.run(_with_python_sdk_2(live, transport, mode))


async def _with_python_sdk_2(live: Live, transport: str, mode: str) -> None:
    answers = {"elicit": 0}

    async def elicit(_context: Any, _params: Any) -> ElicitResult:
        answers["elicit"] += 1
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def sample(_context: Any, _params: Any) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="x"), model="m")

    streams = http_transport(live.url) if transport == "http" else websocket_transport(live.websocket_url)
    async with mcp.Client(
        streams, mode=mode, elicitation_callback=elicit, sampling_callback=sample
    ) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        if mode != "2026-07-28":
            assert client.instructions == "Be careful"
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} >= {"echo", "ask", "sleep"}
        echoed = await client.call_tool("echo", {"text": "ü"})
        assert echoed.structured_content == {"text": "ü"}
        wrong = await client.call_tool("echo", {"text": 5})
        assert wrong.is_error
        assert "text: must be string" in wrong.content[0].text
        asked = await client.call_tool("ask", {})
        assert (asked.content[0].text, answers["elicit"]) == ("Ada", 1)
        seen: list[float] = []

        async def progressed(progress: float, _total: Any, _message: Any) -> None:
            seen.append(progress)

        slept = await client.call_tool("sleep", {"seconds": 0.1}, progress_callback=progressed)
        assert slept.content[0].text == "slept"
        assert seen == sorted(set(seen))
        assert len(seen) >= 5
        read = await client.read_resource("test://named/a%20b")
        assert read.contents[0].text == "a b"
        prompt = await client.get_prompt("greet", {"who": "me"})
        assert prompt.messages[0].content.text == "Greet me"
        with pytest.raises(mcp.MCPError, match="Resource not found"):
            await client.read_resource("test://no")


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_python_sdk_2_listens(live: Live, transport: str) -> None:
    async def listen() -> list[str]:
        streams = http_transport(live.url) if transport == "http" else websocket_transport(live.websocket_url)
        async with (
            mcp.Client(streams, mode="2026-07-28") as client,
            client.listen(tools_list_changed=True, resource_subscriptions=["test://one"]) as heard,
        ):
            features = live.core.features
            features.resource_updated("test://other")
            features.resource_updated("test://one")
            features.add(features.tools["echo"])
            events = heard.__aiter__()
            return [type(await events.__anext__()).__name__ for _ in range(2)]

    assert asyncio.run(asyncio.wait_for(listen(), 20)) == ["ResourceUpdated", "ToolsListChanged"]


def test_python_sdk_1(live: Live) -> None:
    code = f"""
import anyio, warnings
warnings.simplefilter("ignore")
from mcp import ClientSession, types
from mcp.client.websocket import websocket_client

async def elicit(context, params):
    return types.ElicitResult(action="accept", content={{"name": "Grace"}})

async def main():
    async with websocket_client({live.websocket_url!r}) as streams:
        async with ClientSession(*streams, elicitation_callback=elicit) as session:
            print((await session.initialize()).protocolVersion)
            print(len((await session.list_tools()).tools))
            print((await session.call_tool("echo", {{"text": "hi"}})).structuredContent)
            print((await session.call_tool("ask", {{}})).content[0].text)
            print((await session.read_resource("test://one")).contents[0].text)

anyio.run(main)
"""
    assert foreign.python_1(code).split("\n")[:-1] == [
        "2025-11-25",
        str(len(live.core.features.tools)),
        "{'text': 'hi'}",
        "Grace",
        "one",
    ]


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_typescript_sdk(live: Live, transport: str) -> None:
    make = {
        "http": f"""new (await import("@modelcontextprotocol/sdk/client/streamableHttp.js"))
            .StreamableHTTPClientTransport(new URL("{live.url}"),
            {{requestInit: {{headers: {{Authorization: "Bearer {TOKEN}"}}}}}})""",
        "websocket": f"""new (await import("@modelcontextprotocol/sdk/client/websocket.js"))
            .WebSocketClientTransport(new URL("{live.websocket_url}"))""",
    }[transport]
    code = f"""
import {{ Client }} from "@modelcontextprotocol/sdk/client/index.js";
import {{ ElicitRequestSchema }} from "@modelcontextprotocol/sdk/types.js";
const client = new Client({{name: "ts", version: "1"}}, {{capabilities: {{elicitation: {{}}}}}});
client.setRequestHandler(ElicitRequestSchema, async () => ({{action: "accept", content: {{name: "Alan"}}}}));
await client.connect({make});
console.log((await client.listTools()).tools.length);
console.log(JSON.stringify((await client.callTool({{name: "echo", arguments: {{text: "hi"}}}})).structuredContent));
console.log((await client.callTool({{name: "ask"}})).content[0].text);
let steps = 0;
await client.callTool({{name: "sleep", arguments: {{seconds: 0.1}}}}, undefined, {{onprogress: () => steps++}});
console.log(steps > 3);
await client.close();
process.exit(0);
"""
    assert foreign.typescript(code).split("\n")[:-1] == [
        str(len(live.core.features.tools)),
        '{"text":"hi"}',
        "Alan",
        "true",
    ]


# Sizes


@pytest.mark.parametrize("mebibytes", [1, 32])
def test_large_messages_either_way(live: Live, mebibytes: int) -> None:
    text = "x" * (mebibytes << 20)
    message = request(1, "tools/call", name="echo", arguments={"text": text})
    with live.websocket() as opened:
        opened.send(json.dumps(request(0, "initialize", protocolVersion="2025-11-25")))
        opened.recv()
        opened.send(json.dumps(message))
        assert json.loads(opened.recv())["result"]["structuredContent"]["text"] == text
    _, answer = live.stateless(stateless(1, "tools/call", name="echo", arguments={"text": text}))
    assert answer["result"]["structuredContent"]["text"] == text


def test_a_message_above_the_limit_is_refused_and_the_server_goes_on(tmp_path: Path) -> None:
    with Live(tmp_path, max_message_bytes=1000) as live:
        message = request(1, "tools/call", name="echo", arguments={"text": "x" * 2000})
        status, _, body = live.post(message)
        assert (status, "larger than 1000 bytes" in body) == (413, True)
        with live.websocket() as opened:
            opened.send(json.dumps(message))
            with pytest.raises(Exception, match="1009"):
                opened.recv()
        with live.websocket() as opened:
            opened.send(json.dumps(request(1, "ping")))
            assert json.loads(opened.recv())["result"] == {}


def test_a_result_that_is_not_json_is_an_error(live: Live) -> None:
    _, answer = live.stateless(stateless(1, "tools/call", name="not_json"))
    assert answer["error"]["code"] == -32603
    assert "The result is not JSON" in answer["error"]["message"]
