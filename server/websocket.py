# SPDX-License-Identifier: GPL-3.0-or-later
"""The WebSocket endpoint: one JSON message per text frame, both eras and plain commands on one connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from .http_messages import HttpError, Receive, Scope, Send
from .mcp import actions, jsonrpc, wire
from .mcp.errors import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, RpcError
from .outbox import Outbox

if TYPE_CHECKING:
    from .dispatch import Dispatcher
    from .mcp.content import Json
    from .mcp.context import Call, Principal

SUBPROTOCOL = "mcp"


class Channel(Protocol):
    """The way past ASGI's queue and its `send`, which cost each message a turn of the loop. It is the loop's.

    There is none where the server in between is one that nobody knows from inside.
    """

    #: Given each message from the socket instead of `receive`, while none is left there; None for a binary one.
    on_message: Callable[[str | None], None] | None

    def write_now(self, text: str) -> bool:
        """Send a text, unless the client is behind with reading or gone: then `send` waits or raises."""


async def serve(
    dispatcher: Dispatcher, client: Principal, scope: Scope, receive: Receive, send: Send
) -> None:
    """Serve one accepted connection until it ends."""
    offered = scope.get("subprotocols", ())
    await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL if SUBPROTOCOL in offered else None})

    async def write(text: str) -> None:
        await send({"type": "websocket.send", "text": text})

    channel: Channel | None = scope["state"].get("channel")
    write_now = channel.write_now if channel else lambda _text: False
    outlet = _Outlet(Outbox(write_now, write, scope["state"]["abort"]))
    connection = dispatcher.connect(client, outlet, allow_plain=True)

    def take(text: str | None) -> None:
        if text is None:
            outlet.refuse(RpcError(INVALID_REQUEST, "Binary frames are not part of MCP: send text"))
            return
        try:
            message = wire.decode(text)
        except wire.WireError as error:
            outlet.refuse(RpcError(PARSE_ERROR, f"Parse error: {error}"))
        else:
            connection.feed(message)

    if channel:
        channel.on_message = take
    try:
        while (event := await receive())["type"] == "websocket.receive":
            take(event.get("text"))
    finally:
        if channel:
            channel.on_message = None
        connection.close()
        outlet.outbox.close()


async def refuse(error: HttpError, send: Send) -> None:
    """Answer the handshake by an HTTP status instead of 101."""
    fields = {"content-type": "application/json", **error.headers}
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
    body = wire.encode(jsonrpc.error(None, error.error)).encode()
    await send({"type": "websocket.http.response.start", "status": error.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})


class _Outlet:
    """All messages go to the one socket."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox

    def deliver(self, send: actions.Send) -> None:
        self.outbox.put(encoded(send.message))

    def release(self, call: Call) -> None:
        """A WebSocket has no stream for one request."""

    def refuse(self, error: RpcError) -> None:
        self.outbox.put(wire.encode(jsonrpc.error(None, error)))


def encoded(message: Json, encode: Callable[[object], str] = wire.encode) -> str:
    """The text of a message; a result that is not JSON becomes an error instead."""
    try:
        return encode(message)
    except (TypeError, ValueError, RecursionError) as error:
        failure = RpcError(INTERNAL_ERROR, f"The result is not JSON: {error}")
        return encode(jsonrpc.error(message.get("id"), failure))
