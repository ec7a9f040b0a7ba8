# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the server on a real port, without Blender's part: the app, uvicorn and a token, and clients for it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
from bl_ext.user_default.mcp_bridge.server.clients.authenticator import Authenticator
from bl_ext.user_default.mcp_bridge.server.clients.token_store import Client, TokenStore
from bl_ext.user_default.mcp_bridge.server.protocol.context import RequestContext
from bl_ext.user_default.mcp_bridge.server.protocol.core import Core
from bl_ext.user_default.mcp_bridge.server.protocol.features import Tool
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult, text
from bl_ext.user_default.mcp_bridge.server.transport import listener
from bl_ext.user_default.mcp_bridge.server.transport.asgi import App
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc
from websockets.asyncio.client import connect as connect_async
from websockets.sync.client import ClientConnection, connect

from support.bridges import protocol

__all__ = ("OTHER", "TOKEN", "Live", "http_transport", "until", "websocket_transport")

Json = dict[str, Any]

TOKEN, OTHER = "token-of-alice-0123456789", "token-of-bob-0123456789"


class Live:
    """A running server. `begun` and `ended` count handlers of the tool `sleep`."""

    def __init__(self, folder: Path, **limits: Any) -> None:
        self.core: Core = protocol.core(time.time)  # type: ignore[arg-type]
        self.begun, self.ended, self.cancelled = 0, 0, 0
        self.core.features.add(*self._tools())
        listening = listener.bind("127.0.0.1", 0)
        self.port: int = listening.getsockname()[1]
        clients = {TOKEN: Client("alice", "Alice"), OTHER: Client("bob", "Bob")}
        authenticator = Authenticator(TokenStore(folder / "clients.json"), port=self.port, fixed=clients)
        health = {"status": "ok", "product": "mcp_bridge"}
        self.app = App(self.core, authenticator, health=lambda: health, metrics=lambda: b"up 1\n", **limits)
        self.listener = listener.Listener(listening, self.app)

    def __enter__(self) -> Live:
        self.listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self.listener.stop(), "the server's thread did not end"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def websocket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/mcp?token={TOKEN}"

    @contextlib.contextmanager
    def websocket(self, **options: Any) -> Iterator[ClientConnection]:
        """Open a plain WebSocket with the token."""
        with connect(self.websocket_url, **{"max_size": None, "compression": None, **options}) as socket_:
            yield socket_

    def post(self, message: object, *, token: str = TOKEN, **headers: str) -> tuple[int, dict[str, str], str]:
        """POST a message (bytes unchanged); return status, headers in lower case, and body."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.request("POST", "/mcp", body, token=token, **headers)

    def request(
        self, method: str, path: str, body: bytes | None = None, *, token: str | None = TOKEN, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """Send an HTTP request; underscores in header names stand for dashes. Return status, headers and body."""
        fields = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, fields)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return response.status, found, response.read().decode()
        finally:
            connection.close()

    def stateless(self, message: Json, **headers: str) -> tuple[int, Json]:
        """POST a stateless request with the headers that mirror it; return the status and the last message."""
        params = message["params"]
        mirrored = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": message["method"]}
        name = params.get("name") or params.get("uri") or params.get("taskId")
        if name:
            mirrored["Mcp_Name"] = name
        status, fields, body = self.post(message, **{**mirrored, **headers})
        if fields.get("content-type") == "text/event-stream":
            body = [line[6:] for line in body.splitlines() if line.startswith("data: {")][-1]
        return status, json.loads(body)

    def session(self, version: str = "2025-11-25", **capabilities: Any) -> str:
        """Begin a session of the handshake era; return its id."""
        status, headers, _ = self.post(protocol.handshake(0, version, **capabilities))
        assert status == 200
        return headers["mcp-session-id"]

    def raw(self, head: str, body: bytes = b"") -> socket.socket:
        """Return a socket that has sent the beginning of a request."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n" + body)
        return connection

    def threads(self) -> list[str]:
        """Return the names of the server's threads."""
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("MCP Bridge")]

    def _tools(self) -> list[Tool]:
        schema = {"type": "object"}

        async def sleep(ctx: RequestContext, arguments: Json) -> ToolResult:
            self.begun += 1
            try:
                for step in range(int(arguments["seconds"] * 100)):
                    await ctx.progress(step)
                    await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.ended += 1
            return ToolResult([text("slept")])

        async def job(ctx: RequestContext, arguments: Json) -> ToolResult:
            handle = await ctx.background("nap", "Nap", wait_seconds=arguments.get("wait", 45))
            for step in range(int(arguments["seconds"] * 100)):
                handle.report(step, arguments["seconds"] * 100)
                ctx.report_progress(step, arguments["seconds"] * 100)
                await asyncio.sleep(0.01)
            return ToolResult(structured={"status": "success"})

        async def big(_ctx: RequestContext, arguments: Json) -> ToolResult:
            return ToolResult([text("x" * arguments["size"])])

        async def not_json(_ctx: RequestContext, _arguments: Json) -> ToolResult:
            return ToolResult([{"type": "text", "text": object()}])

        handlers = {"sleep": sleep, "job": job, "big": big, "not_json": not_json}
        return [
            Tool(name=name, description=name, input_schema=schema, handler=handler)
            for name, handler in handlers.items()
        ]


def until(condition: Any, timeout: float = 30.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


@contextlib.asynccontextmanager
async def http_transport(url: str, token: str = TOKEN) -> AsyncIterator[Any]:
    """Open Streamable HTTP of the SDK 2.x with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def websocket_transport(url: str) -> AsyncIterator[Any]:
    """Open a WebSocket as a transport of the SDK 2.x."""
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](100)
    async with (
        connect_async(url, subprotocols=["mcp"], max_size=None) as socket_,  # type: ignore[list-item]
        anyio.create_task_group() as tasks,
    ):

        async def read() -> None:
            async with to_client:
                async for received in socket_:
                    await to_client.send(
                        SessionMessage(jsonrpc.jsonrpc_message_adapter.validate_json(received))
                    )

        async def write() -> None:
            async for sent in from_client:
                await socket_.send(sent.message.model_dump_json(by_alias=True, exclude_unset=True))

        tasks.start_soon(read)
        tasks.start_soon(write)
        yield from_server, to_server
        tasks.cancel_scope.cancel()
