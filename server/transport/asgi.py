# SPDX-License-Identifier: GPL-3.0-or-later
"""One port: WebSocket and Streamable HTTP on `/mcp`, `GET /health`, `GET /metrics`, `POST /pair`.

Host, Origin and token are checked first, before the 101 and before any byte of a body is read. If the token is revoked,
only the id of the request is read, for the answer that says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from ...approvals.client_names import shown_name
from ...base.errors import BridgeError
from ..clients.authenticator import Refusal
from ..clients.pairing import NotYet
from ..clients.watch import watch
from ..dispatch import MAX_IN_FLIGHT, Dispatcher
from ..protocol.messages import jsonrpc, wire
from ..protocol.messages.errors import SERVER_BUSY
from . import http_messages, websocket
from .http_messages import HttpError, Receive, Scope, Send
from .shares import Held, Places, Unread
from .streamable_http import StreamableHttp

if TYPE_CHECKING:
    from ..clients.token_store import Client
    from ..protocol.core import Core

MCP, HEALTH, METRICS, PAIR = "/mcp", "/health", "/metrics", "/pair"

#: The most bytes of a message.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
#: The most bytes of waiting answers for all clients together. Partly received messages may have 1.5 of the largest
#: message together.
MAX_UNREAD_BYTES = 96 * 1024 * 1024
#: The most WebSockets and HTTP requests that are open at once.
MAX_CONNECTIONS = 64

#: The most bytes to read of a request with a revoked token, to answer it.
_MOST_OF_REVOKED = 64 * 1024
#: The id under which requests with a revoked token take places.
_REVOKED = "revoked"

_log = logging.getLogger(__name__)


class Authenticates(Protocol):
    """The part of `Authenticator` that the app uses."""

    def check_source(self, headers: Iterable[tuple[bytes, bytes]]) -> Refusal | None:
        """Return the refusal of a request whose Host or Origin is not ours; None if both are allowed."""

    def authorize(self, headers: Iterable[tuple[bytes, bytes]], query: bytes = b"") -> Client | Refusal:
        """Return the client with the request's token, or a refusal."""

    def may_ask(self, headers: Iterable[tuple[bytes, bytes]]) -> Refusal | None:
        """Return the refusal of a program that may not ask for access; None if it may."""

    @property
    def came_in(self) -> Collection[str]:
        """Ids of the clients that came in."""

    def shut_out(self) -> Collection[str]:
        """Return the ids, each once, of clients that came in and whose token is no longer valid."""


class App:
    """The ASGI application.

    `health` returns the content of `/health`, which anybody on this computer can read; `metrics` returns the Prometheus
    text. `ask_in` returns the token for a program by its `clientInfo`, or raises NotYet. `shut_out` is called on the
    loop with each revoked client, after its connections have ended.
    """

    def __init__(
        self,
        core: Core,
        authenticator: Authenticates,
        *,
        health: Callable[[], dict[str, Any]],
        metrics: Callable[[], bytes],
        ask_in: Callable[[dict[str, Any]], str] = lambda _client_info: "",
        shut_out: Callable[[str], object] = lambda _client_id: None,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        max_connections: int = MAX_CONNECTIONS,
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self.core = core
        self.max_message_bytes = max_message_bytes
        self.max_connections = max_connections
        self._authenticator = authenticator
        self._health = health
        self._metrics = metrics
        self._ask_in = ask_in
        self._told_of_shut_out = shut_out
        self._max_in_flight = max_in_flight
        self._dispatcher: Dispatcher | None = None
        self._http: StreamableHttp | None = None
        #: The bytes of partly received messages of all connections.
        self.held = Held(max_message_bytes * 3 // 2)
        self.unread = Unread(MAX_UNREAD_BYTES)
        self._places = Places(max_connections)
        #: For each open connection or request: its client's id, and the function that drops it.
        self._open: list[tuple[str, Callable[[], None]]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI scope: a connection, a request or the life span."""
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
        """End all streams and stop all handlers. Call it on the loop before the server exits."""
        if self._dispatcher:
            self._dispatcher.close()
        if self._http:
            self._http.close()

    @property
    def connections(self) -> int:
        """The number of open WebSockets and HTTP requests. Any thread."""
        return len(self._open)

    def drop(self, client_id: str) -> None:
        """End the connections, streams, sessions, requests and jobs of a client. Call it on the loop."""
        for owner, abort in list(self._open):
            if owner == client_id:
                abort()
        if self._http:
            self._http.drop(client_id)
        if self._dispatcher:
            self._dispatcher.drop(client_id)

    def _shut_out(self, client_id: str) -> None:
        self.drop(client_id)
        self._told_of_shut_out(client_id)

    def clients(self) -> list[str]:
        """Return the names of the connected clients, each once. Any thread."""
        if self._dispatcher is None:
            return []
        peers = [connection.peer for connection in list(self._dispatcher.connections)]
        return sorted(
            {shown_name(peer.client, peer.session.info if peer.session else None) for peer in peers}
        )

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._dispatcher = Dispatcher(self.core, max_in_flight=self._max_in_flight)
        self._http = StreamableHttp(
            self._dispatcher, self.held, self.unread, max_bytes=self.max_message_bytes
        )
        watching = asyncio.create_task(watch(self._authenticator, self._shut_out, self.drop))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watching.cancel()
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
            await websocket.serve(self._dispatcher, client, scope, receive, send, self.unread)
        finally:
            self._leave(entry)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        if path == HEALTH:
            self._refuse(self._authenticator.check_source(scope["headers"]))
            _only(method, "GET")
            await http_messages.respond_json(send, self._health(), headers={"cache-control": "no-store"})
        elif path == METRICS:
            self._authorize(scope)
            _only(method, "GET")
            await http_messages.respond(
                send, self._metrics(), 200, "text/plain; version=0.0.4; charset=utf-8"
            )
        elif path == PAIR:
            await self._pair(scope, receive, send)
        elif path == MCP:
            found = self._authenticator.authorize(scope["headers"], scope.get("query_string", b""))
            if isinstance(found, Refusal):
                await self._turn_away(found, scope, receive, send)
            else:
                await self._mcp(found, scope, receive, send)
        else:
            raise HttpError(404, f"There is nothing here; MCP is at {MCP}")

    async def _pair(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a program that asks for access: a token, or 403 with a text that says what its user has to do."""
        self._refuse(self._authenticator.may_ask(scope["headers"]))
        _only(scope["method"], "POST")
        if not self._places.take(PAIR):
            raise HttpError(503, "Busy: try again later", headers={"retry-after": "1"}, code=SERVER_BUSY)
        account = self.held.message()
        try:
            headers = http_messages.headers_of(scope)
            asked = wire.decode_bytes(
                await http_messages.read_body(headers, receive, _MOST_OF_REVOKED, account)
            )
            client = asked.get("client") if isinstance(asked, dict) else None
            token = self._ask_in(client if isinstance(client, dict) else {})
        except wire.WireError as error:
            raise HttpError(400, f"Parse error: {error}") from None
        except BridgeError as error:
            raise HttpError(503, str(error)) from None
        except NotYet as reason:
            raise HttpError(403, str(reason)) from None
        finally:
            account.close()
            self._places.give_back(PAIR)
        await http_messages.respond_json(send, {"token": token}, headers={"cache-control": "no-store"})

    async def _turn_away(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request. If its token was revoked, the answer is an MCP error, which clients show to the user.

        Most clients take a 401 for the start of OAuth and do not show its text.
        """
        request_id = None
        if refusal.revoked and scope["method"] == "POST":
            request_id = await self._id_of_revoked(scope, receive)
        failure = self._refusal(refusal)
        if request_id is None:
            raise failure
        await http_messages.respond_json(send, jsonrpc.error(request_id, failure.error))

    async def _id_of_revoked(self, scope: Scope, receive: Receive) -> str | int | None:
        """Return a request's id, if it can be read and a place is free: all revoked clients share one's places."""
        if not self._places.take(_REVOKED):
            return None
        account = self.held.message()
        try:
            headers = http_messages.headers_of(scope)
            body = await http_messages.read_body(headers, receive, _MOST_OF_REVOKED, account)
            message = wire.decode_bytes(body)
            return jsonrpc.usable_id(message) if isinstance(message, dict) else None
        except (HttpError, wire.WireError):
            return None
        finally:
            account.close()
            self._places.give_back(_REVOKED)

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
            self._leave(entry)

    def _authorize(self, scope: Scope) -> Client:
        found = self._authenticator.authorize(scope["headers"], scope.get("query_string", b""))
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
        if not self._places.take(client.id):
            raise HttpError(
                503,
                f"Busy: this client has {self._places.share(client.id)} of {self.max_connections} connections open, "
                "which is its share; try again later",
                headers={"retry-after": "1"},
                code=SERVER_BUSY,
            )
        entry = (client.id, scope["state"]["abort"])
        self._open.append(entry)
        return entry

    def _leave(self, entry: tuple[str, Callable[[], None]]) -> None:
        self._open.remove(entry)
        self._places.give_back(entry[0])


def _only(method: str, *allowed: str) -> None:
    if method not in allowed:
        raise HttpError(405, f"{method} is not possible here", headers={"allow": ", ".join(allowed)})
