# SPDX-License-Identifier: GPL-3.0-or-later
"""Streamable HTTP: a POST per message in both eras; sessions, GET streams and resumption in the handshake era.

A stateless POST is a separate connection, and closing it cancels the request. In a session a request outlives its
POST: the client may reconnect with `Last-Event-ID` for the messages that it missed.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..protocol import actions
from ..protocol.messages import jsonrpc, wire
from ..protocol.messages.errors import INVALID_REQUEST, PARSE_ERROR, SERVER_BUSY
from ..protocol.messages.revisions import HANDSHAKE, STATELESS
from . import http_headers, http_messages
from .http_messages import HttpError, Receive, Send
from .outbox import MAX_REPLAY, STALL_SECONDS, Stream
from .websocket import encoded

if TYPE_CHECKING:
    from ..dispatch import Connection, Dispatcher
    from ..protocol.context import Call, Principal
    from .shares import Held, Unread

JSON, SSE = "application/json", "text/event-stream"

#: A request without an answer after this time (seconds) gets the headers, and comments to keep the connection open.
QUIET_SECONDS = 10.0
#: The time that a client waits before it reconnects to a released stream, in milliseconds.
RETRY_MS = 500
#: The most sessions at the same time, and how long an idle one is kept, in seconds.
MAX_SESSIONS = 64
IDLE_SECONDS = 3600.0
#: How many answered requests of a session a client can read again.
MAX_KEPT = 32

_SSE_HEADERS = {"content-type": SSE, "cache-control": "no-store", "x-accel-buffering": "no"}


class StreamableHttp:
    """The endpoint of Streamable HTTP. `abort` arguments drop the TCP connection of a client that does not read.

    held: the bytes of partly received messages, unread: the waiting answers, both of all connections.
    """

    def __init__(self, dispatcher: Dispatcher, held: Held, unread: Unread, *, max_bytes: int) -> None:
        self._dispatcher = dispatcher
        self._held = held
        self._unread = unread
        self._max_bytes = max_bytes
        self._sessions: dict[str, Session] = {}

    async def post(
        self,
        client: Principal,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
        abort: Callable[[], None],
    ) -> None:
        """Handle POST: one message."""
        if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise HttpError(415, f"Content-Type must be {JSON}")
        if not http_messages.accepts(headers.get("accept"), (JSON, SSE)):
            raise HttpError(406, f"Accept must admit both {JSON} and {SSE}")
        message = await self._message(headers, receive)
        exchange = Exchange(receive, send, abort)
        if http_headers.is_stateless(headers, message):
            await self._stateless(client, headers, message, exchange)
        elif isinstance(message, dict) and message.get("method") == "initialize":
            await self._initialize(client, message, exchange)
        else:
            await self._in_session(client, headers, message, exchange)

    async def get(
        self,
        client: Principal,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
        abort: Callable[[], None],
    ) -> None:
        """Handle GET: messages that belong to no request, or the rest of a stream."""
        if headers.get("mcp-protocol-version") in STATELESS:
            raise HttpError(405, "There is no GET stream since 2026-07-28", headers={"allow": "POST"})
        if not http_messages.accepts(headers.get("accept"), (SSE,)):
            raise HttpError(406, f"Accept must admit {SSE}")
        session = self._session(client, headers)
        stream, position = session.resume(headers.get("last-event-id"))
        exchange = Exchange(receive, send, abort)
        session.readers += 1
        try:
            await exchange.stream(stream, session.priming, position, on_reader=session.only_reader(stream))
        finally:
            session.readers -= 1
            session.used = time.monotonic()

    async def delete(self, client: Principal, headers: Mapping[str, str], send: Send) -> None:
        """Handle DELETE: the client ends its session."""
        if headers.get("mcp-protocol-version") in STATELESS:
            raise HttpError(405, "There are no sessions since 2026-07-28", headers={"allow": "POST"})
        self._end(self._session(client, headers))
        await http_messages.respond_empty(send, 204)

    def drop(self, client_id: str) -> None:
        """End the sessions of a revoked client."""
        for session in list(self._sessions.values()):
            if session.client.id == client_id:
                self._end(session)

    def close(self) -> None:
        """End all sessions, because the server stops."""
        for session in list(self._sessions.values()):
            self._end(session)

    async def _message(self, headers: Mapping[str, str], receive: Receive) -> object:
        account = self._held.message()
        try:
            body = await http_messages.read_body(headers, receive, self._max_bytes, account)
            return wire.decode_bytes(body)
        except wire.WireError as error:
            raise HttpError(400, f"Parse error: {error}", code=PARSE_ERROR) from None
        finally:
            account.close()

    async def _stateless(
        self, client: Principal, headers: Mapping[str, str], message: object, exchange: Exchange
    ) -> None:
        if isinstance(message, dict) and "id" in message:
            problem = http_headers.check(headers, message, self._dispatcher.core.features)
            if problem:
                found = jsonrpc.error(jsonrpc.usable_id(message), problem)
                await http_messages.respond_json(exchange.send, found, 400)
                return
        stream = Stream(on_break=exchange.abort, watched=self._unread)
        self._unread.add(stream, stream.lose)
        outlet = _StreamOutlet(stream, exchange)
        connection = self._dispatcher.connect(client, outlet)
        try:
            connection.feed(message, stateless=True)
            if (isinstance(message, dict) and "id" in message) or stream.end:
                await exchange.answer(stream)
            else:
                await http_messages.respond_empty(exchange.send, 202)
        finally:
            connection.close()
            stream.finish()
            self._unread.remove(stream)

    async def _initialize(self, client: Principal, message: object, exchange: Exchange) -> None:
        self._make_room()
        session = Session(self._dispatcher, client, self._unread)
        stream = session.feed(message, exchange)
        headers = {}
        if session.connection.peer.session:
            self._sessions[session.id] = session
            headers["mcp-session-id"] = session.id
        else:
            session.end()
        await exchange.answer(stream, headers=headers)

    async def _in_session(
        self, client: Principal, headers: Mapping[str, str], message: object, exchange: Exchange
    ) -> None:
        session = self._session(client, headers)
        stream = session.feed(message, exchange)
        if not (isinstance(message, dict) and "id" in message and "method" in message) and not stream.end:
            await http_messages.respond_empty(exchange.send, 202)
            return
        session.readers += 1
        try:
            await exchange.answer(stream, session.priming)
        finally:
            session.readers -= 1
            session.used = time.monotonic()

    def _session(self, client: Principal, headers: Mapping[str, str]) -> Session:
        version = headers.get("mcp-protocol-version")
        if version is not None and version not in HANDSHAKE:
            known = ", ".join((*STATELESS, *HANDSHAKE))
            raise HttpError(400, f"MCP-Protocol-Version {version!r} is not supported; supported: {known}")
        name = headers.get("mcp-session-id")
        if name is None:
            raise HttpError(
                400, "Mcp-Session-Id is required: begin with initialize, or send the `_meta` envelope"
            )
        session = self._sessions.get(name)
        if session is None or session.client.id != client.id:
            raise HttpError(404, "There is no such session (any more): begin anew with initialize")
        session.used = time.monotonic()
        return session

    def _make_room(self) -> None:
        now = time.monotonic()
        idle = sorted(
            (session for session in self._sessions.values() if session.idle), key=lambda one: one.used
        )
        for session in idle:
            if now - session.used > IDLE_SECONDS or len(self._sessions) >= MAX_SESSIONS:
                self._end(session)
        if len(self._sessions) >= MAX_SESSIONS:
            raise HttpError(503, f"Busy: {MAX_SESSIONS} sessions are in use", code=SERVER_BUSY)

    def _end(self, session: Session) -> None:
        self._sessions.pop(session.id, None)
        session.end()


class Session:
    """A handshake session: one peer, a stream for each request, and a stream for messages that belong to no request."""

    def __init__(self, dispatcher: Dispatcher, client: Principal, watched: Unread) -> None:
        self._watched = watched
        watched.add(self, self._lose)
        self.id = secrets.token_urlsafe(24)
        self.client = client
        self.connection: Connection = dispatcher.connect(client, self)
        self.readers = 0
        self.used = time.monotonic()
        self._count = 0
        self._streams: dict[str | int, Stream] = {}
        self._by_name: dict[str, Stream] = {}
        self._alone = Stream("0", keep=True, watched=watched)
        self._alone_reader: asyncio.Task[None] | None = None
        self._feeding: tuple[Stream, Exchange] | None = None

    @property
    def idle(self) -> bool:
        """Whether nobody reads and nothing runs."""
        return not self.readers and not self.connection.peer.calls

    @property
    def priming(self) -> bool:
        """Whether streams start with an empty event, which gives the client an id for reconnecting."""
        session = self.connection.peer.session
        return bool(session and session.version >= "2025-11-25")

    def feed(self, message: object, exchange: Exchange) -> Stream:
        """Take a message; return the stream for its answer."""
        self._count += 1
        stream = Stream(str(self._count), keep=True, watched=self._watched)
        if isinstance(message, dict) and "method" in message and jsonrpc.is_id(message.get("id")):
            self._streams.setdefault(message["id"], stream)
            self._by_name[stream.name] = stream
        self._feeding = (stream, exchange)
        try:
            self.connection.feed(message)
        finally:
            self._feeding = None
        self._forget_old()
        return stream

    def deliver(self, send: actions.Send) -> None:
        """Put a message on the stream where it belongs."""
        text = encoded(send.message)
        if send.call is None and send.final and self._feeding:
            stream, exchange = self._feeding
            if send.message["error"]["code"] in (INVALID_REQUEST, PARSE_ERROR):
                exchange.status = 400
            stream.put(text, final=True)
            self._streams = {key: value for key, value in self._streams.items() if value is not stream}
            return
        request_id = send.call.request_id if send.call else None
        stream = self._streams.get(request_id, self._alone) if request_id is not None else self._alone
        stream.put(text, final=send.final)
        if send.final and request_id is not None:
            self._streams.pop(request_id, None)

    def release(self, call: Call) -> None:
        """Close the response of a call; the client reconnects later."""
        stream = self._streams.get(call.request_id) if call.request_id is not None else None
        if stream and self.priming:
            stream.release()

    def resume(self, last_event_id: str | None) -> tuple[Stream, int]:
        """Return the stream that an event id belongs to, and the position after it."""
        name, _, position = (last_event_id or "").rpartition("-")
        stream = self._by_name.get(name, self._alone)
        if stream.name != name or not position.isdigit():
            return self._alone, self._alone.read_to
        stream.reopen()
        return stream, int(position)

    def only_reader(self, stream: Stream) -> Callable[[asyncio.Task[None]], None] | None:
        """Return, for the stream without a request, a function with which a new reader replaces the old one."""
        if stream is not self._alone:
            return None

        def take_over(reader: asyncio.Task[None]) -> None:
            if self._alone_reader:
                self._alone_reader.cancel()
            self._alone_reader = reader

        return take_over

    def end(self) -> None:
        """End the session."""
        self._watched.remove(self)
        self.connection.close()
        for stream in (*self._by_name.values(), self._alone):
            stream.finish()

    @property
    def unread(self) -> int:
        """The characters of all the session's streams, including read messages that are kept."""
        return sum(stream.size for stream in (*self._by_name.values(), self._alone))

    def _lose(self) -> None:
        for stream in (*self._by_name.values(), self._alone):
            stream.lose()

    def _forget_old(self) -> None:
        kept = [stream for stream in self._by_name.values() if stream.done]
        size = sum(stream.size for stream in kept)
        for index, stream in enumerate(kept[:-1]):
            if len(kept) - index > MAX_KEPT or size > MAX_REPLAY:
                size -= stream.size
                del self._by_name[stream.name]


class Exchange:
    """One HTTP request and its response."""

    def __init__(self, receive: Receive, send: Send, abort: Callable[[], None]) -> None:
        self.send = send
        self.status = 200
        self.abort = abort
        self._receive = receive

    async def answer(
        self, stream: Stream, priming: bool = False, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer with a stream's only message as JSON, or with all of them as events."""
        if stream.done:
            await self._whole(stream, headers)
            return
        gone = asyncio.ensure_future(self._gone())
        waiting = asyncio.ensure_future(stream.wait(0, QUIET_SECONDS))
        try:
            await asyncio.wait({gone, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if gone.done():
            return
        if stream.done and stream.end == 1:
            gone.cancel()
            await self._whole(stream, headers)
            return
        await self.stream(stream, priming, 0, headers=headers, gone=gone)

    async def stream(
        self,
        stream: Stream,
        priming: bool,
        position: int,
        *,
        headers: Mapping[str, str] | None = None,
        on_reader: Callable[[asyncio.Task[None]], None] | None = None,
        gone: asyncio.Future[None] | None = None,
    ) -> None:
        """Answer with the stream's messages from `position` on as server-sent events, until it or the client ends."""
        await http_messages.start(self.send, 200, {**_SSE_HEADERS, **(headers or {})})
        gone = gone or asyncio.ensure_future(self._gone())
        reader = asyncio.create_task(self._events(stream, priming, position))
        if on_reader:
            on_reader(reader)
        try:
            await asyncio.wait({gone, reader}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = not gone.done()
            gone.cancel()
            reader.cancel()
        if ended and not stream.broken:
            await self.send({"type": "http.response.body", "body": b""})

    async def _whole(self, stream: Stream, headers: Mapping[str, str] | None) -> None:
        found = stream.take(0)
        if not found:
            raise HttpError(503, "Busy: too many answers wait to be read; try again later", code=SERVER_BUSY)
        await http_messages.respond(self.send, found[0][1].encode(), self.status, JSON, headers)

    async def _events(self, stream: Stream, priming: bool, position: int) -> None:
        try:
            await self._write_events(stream, priming, position)
        except TimeoutError:  # the client does not read
            self.abort()

    async def _write_events(self, stream: Stream, priming: bool, position: int) -> None:
        if priming:
            await self._write(f"id: {stream.name}-{position}\ndata: \n\n")
        while True:
            for position_after, text in stream.take(position):
                event_id = f"id: {stream.name}-{position_after}\n" if stream.name else ""
                await self._write(f"{event_id}event: message\ndata: {text}\n\n")
                position = position_after
            if stream.broken or (stream.done and position >= stream.end):
                return
            if stream.released:
                await self._write(f"retry: {RETRY_MS}\n\n")
                return
            known = stream.end
            await stream.wait(position, QUIET_SECONDS)
            if stream.end == known and not (stream.done or stream.released or stream.broken):
                await self._write(": still here\n\n")

    async def _write(self, text: str) -> None:
        body = text.encode()
        async with asyncio.timeout(STALL_SECONDS):
            await self.send({"type": "http.response.body", "body": body, "more_body": True})

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


class _StreamOutlet:
    """The outlet of a stateless POST: all messages go to its response."""

    def __init__(self, stream: Stream, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    def deliver(self, send: actions.Send) -> None:
        if send.final:
            self._exchange.status = http_headers.status(send.message)
        self._stream.put(encoded(send.message), final=send.final)

    def release(self, call: Call) -> None:
        """Do nothing: streams cannot be resumed in the stateless era."""
