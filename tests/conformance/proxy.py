# SPDX-License-Identifier: GPL-3.0-or-later
"""Streamable HTTP in front, WebSocket behind: lets the conformance suite, which speaks HTTP, test the WebSocket.

A stateless POST gets a WebSocket of its own, a session keeps one. What HTTP asks beyond MCP itself (mirrored
headers, status codes, session ids) is done here with the extension's own module; Host, Origin and everything in the
messages is left to the server behind.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from bl_ext.user_default.mcp_bridge.server.protocol.features import Features
from bl_ext.user_default.mcp_bridge.server.protocol.messages import jsonrpc
from bl_ext.user_default.mcp_bridge.server.transport import http_headers, http_messages
from bl_ext.user_default.mcp_bridge.server.transport.shares import Held
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

Json = dict[str, Any]
Queue = asyncio.Queue[Json | None]


@dataclass
class Session:
    """A WebSocket that several POSTs use, and who waits for what on it."""

    socket: ClientConnection
    waiting: dict[str | int, Queue] = field(default_factory=dict)
    alone: Queue = field(default_factory=asyncio.Queue)
    reader: asyncio.Task[None] | None = None

    async def read(self) -> None:
        """Hand each message to the POST that waits for it."""
        try:
            async for text in self.socket:
                message = json.loads(text)
                self._queue(message).put_nowait(message)
        except ConnectionClosed:
            pass
        for queue in (*self.waiting.values(), self.alone):
            queue.put_nowait(None)

    def _queue(self, message: Json) -> Queue:
        if "method" not in message:
            return self.waiting.get(message.get("id", ""), self.alone)
        # A WebSocket does not say to which request a message belongs: take the newest one.
        return next(reversed(self.waiting.values()), self.alone)


class Proxy:
    """The ASGI app, listening on `port`, for the server that listens on port `behind`.

    `features` are that server's, for the headers that a tool's schema asks for.
    """

    def __init__(self, port: int, behind: int, token: str, features: Features) -> None:
        self.port = port
        self._behind = behind
        self._token = token
        self._features = features
        self._sessions: dict[str, Session] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        headers = http_messages.headers_of(scope)
        try:
            match scope["method"]:
                case "POST":
                    await self._post(headers, receive, send)
                case "GET":
                    await self._get(headers, receive, send)
                case "DELETE":
                    await self._delete(headers, send)
                case method:
                    raise http_messages.HttpError(405, f"{method} is not possible here")
        except http_messages.HttpError as error:
            await error.respond(send)
        except InvalidStatus as refused:
            response = refused.response
            await http_messages.respond(send, response.body or b"", response.status_code, "application/json")

    async def _post(self, headers: dict[str, str], receive: Any, send: Any) -> None:
        message = json.loads(
            await http_messages.read_body(headers, receive, 64 << 20, Held(1 << 30).message())
        )
        if http_headers.is_stateless(headers, message):
            await self._stateless(headers, message, receive, send)
        elif message.get("method") == "initialize":
            session = Session(await self._connect(headers))
            session.reader = asyncio.create_task(session.read())
            name = secrets.token_urlsafe()
            self._sessions[name] = session
            await self._exchange(session, message, receive, send, {"mcp-session-id": name})
        else:
            await self._exchange(self._session(headers), message, receive, send)

    async def _stateless(self, headers: dict[str, str], message: Json, receive: Any, send: Any) -> None:
        problem = http_headers.check(headers, message, self._features)
        if problem:
            await http_messages.respond_json(send, jsonrpc.error(message.get("id"), problem), 400)
            return
        async with await self._connect(headers) as socket:
            await socket.send(json.dumps(message))

            async def messages() -> AsyncIterator[Json]:
                async for text in socket:
                    yield json.loads(text)

            await _relay(messages(), receive, send, http_headers.status)

    async def _exchange(
        self, session: Session, message: Json, receive: Any, send: Any, headers: Json | None = None
    ) -> None:
        if "id" not in message or "method" not in message:
            await session.socket.send(json.dumps(message))
            await http_messages.respond_empty(send, 202)
            return
        queue: Queue = asyncio.Queue()
        session.waiting[message["id"]] = queue
        try:
            await session.socket.send(json.dumps(message))
            await _relay(_drain(queue), receive, send, lambda _: 200, headers)
        finally:
            del session.waiting[message["id"]]

    async def _get(self, headers: dict[str, str], receive: Any, send: Any) -> None:
        session = self._session(headers)
        await _relay(_drain(session.alone), receive, send, lambda _: 200, always_events=True)

    async def _delete(self, headers: dict[str, str], send: Any) -> None:
        session = self._session(headers)
        del self._sessions[headers["mcp-session-id"]]
        await session.socket.close()
        await http_messages.respond_empty(send, 204)

    def _session(self, headers: dict[str, str]) -> Session:
        name = headers.get("mcp-session-id")
        if name is None:
            raise http_messages.HttpError(400, "Mcp-Session-Id is required")
        if name not in self._sessions:
            raise http_messages.HttpError(404, "There is no such session")
        return self._sessions[name]

    async def _connect(self, headers: dict[str, str]) -> ClientConnection:
        """Open a WebSocket with the client's own Host and Origin, where our port stands for the server's."""
        host = headers["host"].replace(f":{self.port}", f":{self._behind}")
        fields = {"Authorization": f"Bearer {self._token}"}
        if "origin" in headers:
            fields["Origin"] = headers["origin"].replace(f":{self.port}", f":{self._behind}")
        connection = connect(
            f"ws://{host}/mcp",
            host="127.0.0.1",
            port=self._behind,
            additional_headers=fields,
            subprotocols=["mcp"],  # type: ignore[list-item]
            max_size=None,
            compression=None,
            proxy=None,
        )
        return await connection


async def _drain(queue: Queue) -> AsyncIterator[Json]:
    while (message := await queue.get()) is not None:
        yield message


async def _relay(
    messages: AsyncIterator[Json],
    receive: Any,
    send: Any,
    status: Any,
    headers: Json | None = None,
    *,
    always_events: bool = False,
) -> None:
    """Answer with JSON if the first message is the answer, else with events up to the answer."""
    gone = asyncio.create_task(_gone(receive))
    work = asyncio.create_task(_write(messages, send, status, headers or {}, always_events))
    await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    work.cancel()


async def _write(messages: AsyncIterator[Json], send: Any, status: Any, headers: Json, events: bool) -> None:
    if events:
        await http_messages.start(send, 200, {"content-type": "text/event-stream"})
    async for message in messages:
        final = "method" not in message
        if final and not events:
            await http_messages.respond_json(send, message, status(message), headers)
            return
        if not events:
            await http_messages.start(send, 200, {"content-type": "text/event-stream", **headers})
            events = True
        body = f"event: message\ndata: {json.dumps(message)}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
        if final:
            break
    await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
