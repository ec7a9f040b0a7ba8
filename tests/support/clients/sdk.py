# SPDX-License-Identifier: GPL-3.0-or-later
"""Connects the official Python SDK 2.x to a serving Blender, over every transport."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage
from pydantic import TypeAdapter
from websockets.asyncio.client import connect

from support.bridges.serving import TOKEN, Served
from support.running import blender

__all__ = ("dump", "transport")

_MESSAGE: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)


@asynccontextmanager
async def _websocket(url: str) -> AsyncIterator[Any]:
    """Open the custom transport for SDK 2.x: one JSON-RPC message a text frame."""
    to_client, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_client = anyio.create_memory_object_stream[Any](0)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with connect(url, subprotocols=["mcp"], additional_headers=headers, max_size=None) as socket:

        async def receive() -> None:
            async with to_client:
                async for text in socket:
                    await to_client.send(SessionMessage(_MESSAGE.validate_json(text)))

        async def send() -> None:
            async for message in from_client:
                await socket.send(message.message.model_dump_json(by_alias=True, exclude_unset=True))

        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            group.start_soon(send)
            yield from_server, to_server
            group.cancel_scope.cancel()


@asynccontextmanager
async def _http(url: str) -> AsyncIterator[Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


def transport(kind: str, served: Served) -> AbstractAsyncContextManager[Any]:
    """Return the transport for a Client; `kind` is websocket, http or stdio."""
    if kind == "websocket":
        return _websocket(f"ws://127.0.0.1:{served.port}/mcp")
    if kind == "http":
        return _http(f"http://127.0.0.1:{served.port}/mcp")
    shim = blender.installed_folder() / "server" / "clients" / "stdio_shim.py"
    return stdio_client(StdioServerParameters(command=sys.executable, args=[str(shim)], env=served.env))


def dump(result: Any) -> dict[str, Any]:
    """Return a result as JSON."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)
