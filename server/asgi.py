# SPDX-License-Identifier: GPL-3.0-or-later
"""One port: WebSocket and Streamable HTTP on `/mcp`, `GET /health`, `GET /metrics`.

Who asks is settled first: Host, Origin and token before the 101 and before a byte of a body is read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from . import http_messages, websocket
from .access import Refusal
from .dispatch import MAX_IN_FLIGHT, Dispatcher
from .http_messages import HttpError, Receive, Scope, Send
from .mcp.errors import SERVER_BUSY
from .streamable_http import StreamableHttp

if TYPE_CHECKING:
    from .access import Client
    from .mcp.core import Core

MCP, HEALTH, METRICS = "/mcp", "/health", "/metrics"

#: A message may be this large, in bytes.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
#: WebSockets, and HTTP requests, open at once.
MAX_CONNECTIONS = 64

_log = logging.getLogger(__name__)


class Door(Protocol):
    """What the app needs of `access.Access`."""

    def check_source(self, headers: Iterable[tuple[bytes, bytes]]) -> Refusal | None: ...
    def authorize(self, headers: Iterable[tuple[bytes, bytes]], query: bytes = b"") -> Client | Refusal: ...


class App:
    """The ASGI application.

    `health` gives what `/health` shows to anybody on this computer, `metrics` the Prometheus text.
    """

    def __init__(
        self,
        core: Core,
        door: Door,
        *,
        health: Callable[[], dict[str, Any]],
        metrics: Callable[[], bytes],
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        max_connections: int = MAX_CONNECTIONS,
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self.core = core
        self.max_message_bytes = max_message_bytes
        self.max_connections = max_connections
        self._door = door
        self._health = health
        self._metrics = metrics
        self._max_in_flight = max_in_flight
        self._dispatcher: Dispatcher | None = None
        self._http: StreamableHttp | None = None
        #: Whose connections and requests are open, and how each is dropped.
        self._open: list[tuple[str, Callable[[], None]]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection, request or life span, as ASGI has it."""
        match scope["type"]:
            case "lifespan":
                await self._lifespan(receive, send)
            case "websocket":
                await self._websocket(scope, receive, send)
            case "http":
                try:
                    await self._route(scope, receive, send)
                except HttpError as error:
                    await error.respond(send)

    def stop(self) -> None:
        """End all streams and stop all handlers; to be called on the loop before the server is told to exit."""
        if self._dispatcher:
            self._dispatcher.close()
        if self._http:
            self._http.close()

    @property
    def connections(self) -> int:
        """WebSockets and HTTP requests that are open. Any thread."""
        return len(self._open)

    def drop(self, client_id: str) -> None:
        """End every connection of a client whose token was revoked; to be called on the loop."""
        for owner, abort in list(self._open):
            if owner == client_id:
                abort()

    def clients(self) -> list[str]:
        """Names of the clients that are connected, each once. Any thread."""
        if self._dispatcher is None:
            return []
        return sorted({connection.peer.client.name for connection in list(self._dispatcher.connections)})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._dispatcher = Dispatcher(self.core, max_in_flight=self._max_in_flight)
        self._http = StreamableHttp(self._dispatcher, max_bytes=self.max_message_bytes)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        try:
            if scope["path"] != MCP:
                raise HttpError(404, f"There is nothing here; MCP is at {MCP}")
            client = self._authorize(scope)
            entry = self._enter(client, scope)
        except HttpError as error:
            await websocket.refuse(error, send)
            return
        try:
            assert self._dispatcher
            await websocket.serve(self._dispatcher, client, scope, receive, send)
        finally:
            self._open.remove(entry)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        if path == HEALTH:
            self._refuse(self._door.check_source(scope["headers"]))
            _only(method, "GET")
            await http_messages.respond_json(send, self._health(), headers={"cache-control": "no-store"})
        elif path == METRICS:
            self._authorize(scope)
            _only(method, "GET")
            await http_messages.respond(
                send, self._metrics(), 200, "text/plain; version=0.0.4; charset=utf-8"
            )
        elif path == MCP:
            await self._mcp(self._authorize(scope), scope, receive, send)
        else:
            raise HttpError(404, f"There is nothing here; MCP is at {MCP}")

    async def _mcp(self, client: Client, scope: Scope, receive: Receive, send: Send) -> None:
        _only(scope["method"], "POST", "GET", "DELETE")
        headers = http_messages.headers_of(scope)
        assert self._http
        entry = self._enter(client, scope)
        try:
            match scope["method"]:
                case "POST":
                    await self._http.post(client, headers, receive, send, scope["state"]["abort"])
                case "GET":
                    await self._http.get(client, headers, receive, send, scope["state"]["abort"])
                case _:
                    await self._http.delete(client, headers, send)
        finally:
            self._open.remove(entry)

    def _authorize(self, scope: Scope) -> Client:
        found = self._door.authorize(scope["headers"], scope.get("query_string", b""))
        if isinstance(found, Refusal):
            raise self._refusal(found)
        return found

    def _refuse(self, refusal: Refusal | None) -> None:
        if refusal:
            raise self._refusal(refusal)

    def _refusal(self, refusal: Refusal) -> HttpError:
        headers = {"www-authenticate": "Bearer"} if refusal.status == 401 else {}
        return HttpError(refusal.status, refusal.message, headers=headers)

    def _enter(self, client: Client, scope: Scope) -> tuple[str, Callable[[], None]]:
        if len(self._open) >= self.max_connections:
            raise HttpError(503, f"Busy: {self.max_connections} connections are open", code=SERVER_BUSY)
        entry = (client.id, scope["state"]["abort"])
        self._open.append(entry)
        return entry


def _only(method: str, *allowed: str) -> None:
    if method not in allowed:
        raise HttpError(405, f"{method} is not possible here", headers={"allow": ", ".join(allowed)})
