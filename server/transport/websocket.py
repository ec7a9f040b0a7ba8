# SPDX-License-Identifier: GPL-3.0-or-later
"""The WebSocket endpoint: one JSON message per text frame, both eras and plain commands on one connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..protocol import actions
from ..protocol.messages import jsonrpc, wire
from ..protocol.messages.errors import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, RpcError
from .http_messages import HttpError, Receive, Scope, Send
from .outbox import Outbox
from .shares import FREE_BYTES, Unread

if TYPE_CHECKING:
    from ..dispatch import Dispatcher
    from ..protocol.context import Call, Principal
    from ..protocol.messages.content import Json

SUBPROTOCOL = "mcp"


class Channel(Protocol):
    """Reads and writes without ASGI's queue and `send`; `transport.websocket_protocol` implements it. Loop only."""

    #: Called with each message; None for a binary one. The connection reads nothing before this is set.
    on_message: Callable[[str | None], None] | None
    #: Whether the client must first read waiting answers; until then the connection reads nothing.
    behind: Callable[[], bool]

    @property
    def unread(self) -> int:
        """The number of bytes that the operating system has not taken yet."""

    def go_on(self) -> None:
        """Continue reading at this connection's next turn."""

    def write_now(self, text: str) -> bool:
        """Send a text unless the client reads too slowly or is gone; returns whether it was sent."""

    async def write(self, text: str) -> None:
        """Send a text after the client has read the earlier ones. Raises Gone."""


async def serve(
    dispatcher: Dispatcher, client: Principal, scope: Scope, receive: Receive, send: Send, unread: Unread
) -> None:
    """Serve one accepted connection until it ends. `unread`: the waiting answers of all connections."""
    offered = scope.get("subprotocols", ())
    await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL if SUBPROTOCOL in offered else None})

    state = scope["state"]
    channel: Channel = state["channel"]
    outbox = Outbox(channel.write_now, channel.write, state["abort"], channel.go_on)
    outlet = _Outlet(outbox, channel, unread)
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

    unread.add(outlet, state["abort"])
    channel.on_message, channel.behind = take, lambda: outbox.behind
    channel.go_on()
    try:
        await receive()  # ASGI's queue only carries the end of the connection
    finally:
        channel.on_message = None
        unread.remove(outlet)
        connection.close()
        outbox.close()


async def refuse(error: HttpError, send: Send) -> None:
    """Answer the handshake with an HTTP status instead of 101."""
    fields = {"content-type": "application/json", **error.headers}
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
    body = wire.encode(jsonrpc.error(None, error.error)).encode()
    await send({"type": "websocket.http.response.start", "status": error.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})


class _Outlet:
    """The outlet of a WebSocket: all messages go to its one socket."""

    def __init__(self, outbox: Outbox, channel: Channel, unread_of_all: Unread) -> None:
        self._outbox = outbox
        self._channel = channel
        self._unread_of_all = unread_of_all

    @property
    def unread(self) -> int:
        """The number of bytes that the client has not read."""
        return self._outbox.size + self._channel.unread

    def deliver(self, send: actions.Send) -> None:
        self._put(encoded(send.message))

    def release(self, call: Call) -> None:
        """Do nothing: a WebSocket has no stream for one request."""

    def refuse(self, error: RpcError) -> None:
        self._put(wire.encode(jsonrpc.error(None, error)))

    def _put(self, text: str) -> None:
        self._outbox.put(text)
        if self.unread > FREE_BYTES:
            self._unread_of_all.look()


def encoded(message: Json) -> str:
    """Return the text of a message; a result that is not JSON becomes an error instead."""
    try:
        return wire.encode_message(message)
    except (TypeError, ValueError, RecursionError) as error:
        failure = RpcError(INTERNAL_ERROR, f"The result is not JSON: {error}")
        return wire.encode(jsonrpc.error(message.get("id"), failure))
