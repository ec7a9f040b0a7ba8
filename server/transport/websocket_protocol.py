# SPDX-License-Identifier: GPL-3.0-or-later
"""A WebSocket connection on asyncio, for uvicorn: it does the handshake and then reads frames in turn with the others.

uvicorn's own protocol reads all frames of a chunk at once, 40,000 empty ones in one step of the loop, and answers pings
that nobody reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from .frames import CloseFrame, FrameError, FrameReader, MessageEnd, Opcode, frame, head
from .shares import FREE_BYTES

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState

    from .shares import Held
    from .turns import Turns

__all__ = ("Gone", "WebSocketProtocol")

#: A chunk from the socket with more bytes than this is read in turn, not at once.
LIGHT_BYTES = 16 * 1024
#: How long a client may take to close its side, in seconds.
CLOSE_SECONDS = 2.0
#: A message that uses some of the shared limit must arrive within this time, in seconds.
MESSAGE_SECONDS = 120.0
#: A client that reads nothing of its waiting answers within this time, in seconds, is dropped.
STALL_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Gone(OSError):
    """Tells that the client has disconnected."""


class WebSocketProtocol(asyncio.Protocol):
    """One WebSocket connection. uvicorn makes it for a request to become a WebSocket, and feeds it that request.

    It calls the app by ASGI for the handshake and the end; messages go past ASGI's queue, to `on_message`.
    """

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any], _loop: object = None
    ) -> None:
        self._app = config.loaded_app
        self._loop = asyncio.get_running_loop()
        self._connections = server_state.connections
        self._tasks = server_state.tasks
        self._state = app_state
        self._turns: Turns = app_state["turns"]
        held: Held = app_state["held"]
        self._reader = FrameReader(config.ws_max_size, held.message)
        self._handshake: ServerProtocol | None = ServerProtocol(max_size=None, logger=_log)
        self._response: Response | None = None
        self._refusal: Response | None = None
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._transport: asyncio.Transport
        self._writable = asyncio.Event()
        self._writable.set()
        self._closing: asyncio.TimerHandle | None = None
        self._late: asyncio.TimerHandle | None = None
        self._late_for: MessageEnd | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._ended = False
        #: Called with each message; None for a binary one. The connection reads nothing before this is set.
        self.on_message: Callable[[str | None], None] | None = None
        #: Whether the client must first read waiting answers.
        self.behind: Callable[[], bool] = lambda: False

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(self)  # type: ignore[arg-type, unused-ignore]

    def data_received(self, data: bytes) -> None:
        """Take data from the socket: first the handshake, then frames."""
        if self._handshake is not None:
            self._shake_hands(self._handshake, data)
            return
        if self._closing:
            heavy = True
        else:
            heavy = len(data) > LIGHT_BYTES or self._reader.more
            self._reader.feed(data)
        if heavy or self._turns.waits(self) or not self._may_read():
            self._transport.pause_reading()
            self.go_on()
            return
        self._turns.seen(self)
        if self._turn():
            self._transport.pause_reading()
            self.go_on()

    def eof_received(self) -> bool:
        """Let asyncio close the connection, because the client has ended it."""
        return False

    def pause_writing(self) -> None:
        """Stop writing: the client does not read."""
        self._writable.clear()
        self._stalled = self._loop.call_later(STALL_SECONDS, self._look_at_reader, self.unread)

    def resume_writing(self) -> None:
        """Write and read again: the client reads again."""
        self._writable.set()
        if self._stalled:
            self._stalled.cancel()
        self.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after the end of the connection."""
        self._ended = True
        self._connections.discard(self)
        self._turns.leave(self)
        self._reader.discard()
        self._writable.set()  # wakes a waiting writer, which notices the end
        for timer in (self._closing, self._late, self._stalled):
            if timer:
                timer.cancel()
        self._events.put_nowait({"type": "websocket.disconnect", "code": 1006})

    def shutdown(self) -> None:
        """End the connection, because the server stops; uvicorn calls this."""
        if self._response is None:
            self._transport.close()
        else:
            self.close(1012, "")

    # Reading in turn

    def go_on(self) -> None:
        """Continue reading at this connection's next turn."""
        if not self._ended and self._may_read():
            self._turns.wait(self, self._turn)

    def _may_read(self) -> bool:
        return bool(self._closing) or (
            self.on_message is not None and self._writable.is_set() and not self.behind()
        )

    def _turn(self) -> bool:
        """Do a part of the work; return whether there is more."""
        if self._ended:
            return False
        if not self._closing:
            if not self._may_read():
                self._transport.pause_reading()
                return False
            try:
                self._take(self._reader.read())
            except FrameError as error:
                self._fail(error)
            if self._reader.more:
                return True
            self._watch_arrival()
        if not self._transport.is_closing():
            self._transport.resume_reading()
        return False

    def _take(self, events: list[Any]) -> None:
        pong: bytes | None = None
        for event in events:
            if isinstance(event, MessageEnd):
                self._message(event)
            elif isinstance(event, CloseFrame):
                self.close(event.code or 1000, "")
                self._end()
            else:
                pong = event.payload
        if pong is not None and not self._closing:
            self._transport.write(frame(Opcode.PONG, pong))

    def _message(self, message: MessageEnd) -> None:
        assert self.on_message
        try:
            text = message.data.decode() if message.opcode == Opcode.TEXT else None
        except UnicodeDecodeError:
            raise FrameError(1007, "the message is no UTF-8") from None
        finally:
            size = len(message.data)
            message.data.clear()
            message.account.close()
        if self._closing:
            return
        self.on_message(text)
        if size > FREE_BYTES:
            self._turns.seen(self)

    def _watch_arrival(self) -> None:
        """Drop a client whose large message does not arrive in time."""
        half = self._reader.half
        if half is self._late_for:
            return
        if self._late:
            self._late.cancel()
        self._late_for = half
        self._late = self._loop.call_later(MESSAGE_SECONDS, self._is_late) if half else None

    def _is_late(self) -> None:
        self._fail(FrameError(1008, f"a message did not arrive within {MESSAGE_SECONDS:.0f} s"))

    def _fail(self, error: FrameError) -> None:
        _log.warning("a WebSocket is closed: %s", error.reason)
        self.close(error.code, error.reason)

    # Writing

    def write_now(self, text: str) -> bool:
        """Send a text, unless the client reads too slowly or is gone: then `write` waits or raises."""
        if self._ended or self._closing or not self._writable.is_set():
            return False
        payload = text.encode()
        if len(payload) <= FREE_BYTES:
            self._transport.write(frame(Opcode.TEXT, payload))
        else:  # two writes take less time than a copy
            self._transport.write(head(Opcode.TEXT, len(payload)))
            self._transport.write(payload)
        return True

    async def write(self, text: str) -> None:
        """Send a text after the client has read the earlier ones. Raises Gone."""
        await self._writable.wait()
        if not self.write_now(text):
            raise Gone("the client is gone")

    def _look_at_reader(self, before: int) -> None:
        """Drop a client that has read nothing of its waiting answers since the last check."""
        if self.unread >= before:
            self._transport.abort()
        else:
            self._stalled = self._loop.call_later(STALL_SECONDS, self._look_at_reader, self.unread)

    @property
    def unread(self) -> int:
        """The number of bytes that the operating system has not taken yet."""
        return self._transport.get_write_buffer_size()

    def close(self, code: int, reason: str) -> None:
        """Send a close frame, and wait a moment for the client to close the connection.

        Closing with unread data would reset the connection, and the client might never see why.
        """
        if self._closing or self._ended:
            return
        self._reader.discard()
        self._transport.write(frame(Opcode.CLOSE, code.to_bytes(2, "big") + reason.encode()[:123]))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._closing = self._loop.call_later(CLOSE_SECONDS, self._transport.abort)
        self._events.put_nowait({"type": "websocket.disconnect", "code": code})
        self.go_on()

    def _end(self) -> None:
        """End the connection after both sides have closed it."""
        self._transport.close()

    # The handshake

    def _shake_hands(self, handshake: ServerProtocol, data: bytes) -> None:
        handshake.receive_data(data)
        for request in handshake.events_received():
            assert isinstance(request, Request)
            self._handshake = None
            self._response = handshake.accept(request)
            if self._response.status_code != 101:
                self._write_response(self._response)
                return
            task = self._loop.create_task(self._run(self._scope(request)))
            task.add_done_callback(self._tasks.discard)
            self._tasks.add(task)
        if handshake.parser_exc is not None:
            self._transport.close()

    def _scope(self, request: Request) -> dict[str, Any]:
        path, _, query = request.path.partition("?")
        offered = request.headers.get_all("Sec-WebSocket-Protocol")
        return {
            "type": "websocket",
            "path": unquote(path),
            "query_string": query.encode("ascii"),
            "headers": [
                (name.lower().encode("ascii"), value.encode("latin-1"))
                for name, value in request.headers.raw_items()
            ],
            "subprotocols": [name.strip() for header in offered for name in header.split(",")],
            "state": {**self._state, "channel": self},
        }

    async def _run(self, scope: dict[str, Any]) -> None:
        self._events.put_nowait({"type": "websocket.connect"})
        try:
            await self._app(scope, self._events.get, self._send)  # type: ignore[arg-type, unused-ignore]
        except Exception:
            _log.exception("a WebSocket connection failed")
            self._transport.abort()
        if not self._closing:
            self._transport.close()

    async def _send(self, message: dict[str, Any]) -> None:
        """Send the app's answer to the handshake: acceptance, or an HTTP status that refuses it."""
        match message["type"]:
            case "websocket.accept":
                assert self._response
                if message.get("subprotocol"):
                    self._response.headers["Sec-WebSocket-Protocol"] = message["subprotocol"]
                self._transport.write(self._response.serialize())
            case "websocket.http.response.start":
                fields = [
                    (name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]
                ]
                self._refusal = _response(message["status"], fields)
            case "websocket.http.response.body":
                assert self._refusal
                self._refusal.body = message["body"]
                self._refusal.headers["Content-Length"] = str(len(message["body"]))
                self._write_response(self._refusal)

    def _write_response(self, response: Response) -> None:
        self._transport.write(response.serialize())
        self._transport.close()


def _response(status: int, fields: list[tuple[str, str]]) -> Response:
    from websockets.datastructures import Headers

    headers = Headers(fields)
    headers["Connection"] = "close"
    return Response(status, HTTPStatus(status).phrase, headers)
