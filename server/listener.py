# SPDX-License-Identifier: GPL-3.0-or-later
"""uvicorn in a daemon thread, on a socket that is bound beforehand: a busy port is known before anything starts."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import threading
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState

from .. import threads
from ..errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable

    import h11
    from websockets.http11 import Request

    from .asgi import App

#: A connection that has not sent a whole request head by then is dropped, in seconds.
HEAD_SECONDS = 10.0
#: An idle HTTP connection is kept this long for the next request, in seconds.
KEEP_ALIVE_SECONDS = 75
#: Connections that may be open for each one that may be in use: idle ones are kept for the next request.
IDLE_FACTOR = 4
#: How long open requests may take to end when the server stops, in seconds.
GRACE_SECONDS = 2

_log = logging.getLogger(__name__)


class PortBusy(BridgeError):
    """Something else listens on that port."""


def bind(host: str, port: int) -> socket.socket:
    """Bind and listen; port 0 takes any free one. Raises PortBusy, or BridgeError for an unusable address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "nt":  # there SO_REUSEADDR would let another program take the port over
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise PortBusy(f"Port {port} on {host} is in use by another program") from error
        raise BridgeError(f"Cannot listen on {host}:{port}: {error.strerror or error}") from error
    return listening


class _NoFalseAlarm(logging.Filter):
    """uvicorn takes a WebSocket that is refused by an HTTP status for one that was forgotten, and tells by a whole
    traceback that a client sent what is no UTF-8.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.exc_info, tuple) and isinstance(record.exc_info[1], UnicodeDecodeError):
            record.exc_info = None
        return record.getMessage() != "ASGI callable returned without completing handshake."


_NO_FALSE_ALARM = _NoFalseAlarm()


class Listener:
    """Serves `app` on a bound socket, from `start` to `stop`."""

    def __init__(self, listening: socket.socket, app: App) -> None:
        self.port: int = listening.getsockname()[1]
        self._socket = listening
        self._app = app
        self._limit = app.max_connections * IDLE_FACTOR
        self._server = _Server(
            uvicorn.Config(
                app,
                http=self._protocol(),
                ws=_WebSocket if uvicorn.__version__.startswith(_KNOWN_UVICORN) else "websockets-sansio",
                lifespan="on",
                log_config=None,
                # Above "info", at which uvicorn logs the URL of each WebSocket, token and all.
                log_level="warning",
                access_log=False,
                server_header=False,
                ws_max_size=app.max_message_bytes,
                ws_ping_interval=None,
                # Compressing what stays on this computer costs time and saves nothing.
                ws_per_message_deflate=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._thread = threading.Thread(target=self._run, name="MCP Bridge network", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure: BaseException | None = None

    def start(self, timeout: float = 10.0) -> int:
        """Serve; gives the port. Raises BridgeError when the server doesn't come up within `timeout` seconds."""
        self._thread.start()
        if not self._server.up.wait(timeout) or self._failure:
            self.stop()
            raise BridgeError(f"The server did not start: {self._failure or 'it took too long'}")
        return self.port

    def call(self, do: Callable[[], None]) -> None:
        """Have `do` called on the server's loop, from any thread; not when the server has ended."""
        if self._loop and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(do)
            except RuntimeError:  # it closed between the question and the call
                _log.debug("the loop has ended")

    def stop(self, timeout: float = 5.0) -> bool:
        """Stop serving, end connections and join the thread; False if it did not end within `timeout` seconds."""
        self.call(self._app.stop)
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(timeout)
        self._socket.close()
        return not self._thread.is_alive()

    @property
    def alive(self) -> bool:
        """Whether it serves."""
        return self._thread.is_alive() and self._server.started

    def _run(self) -> None:
        logging.getLogger("uvicorn.error").addFilter(_NO_FALSE_ALARM)
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
            _log.exception("the server has ended")
        finally:
            self._server.up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        with threads.pausable(self._loop.call_soon_threadsafe):
            await self._server.serve(sockets=[self._socket])

    def _protocol(self) -> type[H11Protocol]:
        """uvicorn's HTTP protocol with bounds on connections, and on the time that a request head may take."""
        limit = self._limit

        class Bounded(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override, unused-ignore]
                super().connection_made(transport)
                if len(self.connections) > limit:
                    transport.abort()
                    return
                # The app drops a client that doesn't read: closing would wait for it to read.
                self.app_state = {**self.app_state, "abort": transport.abort}
                self._unread = 0
                self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_is_late)

            def _head_is_late(self) -> None:
                if self.scope is None:
                    self.transport.abort()

            def timeout_keep_alive_handler(self) -> None:
                """Nothing was asked for a while. What the client has not read by then, it won't read."""
                unread, self._unread = self._unread, self.transport.get_write_buffer_size()
                if self._unread and self._unread != unread:
                    self.timeout_keep_alive_task = self.loop.call_later(
                        self.timeout_keep_alive, self.timeout_keep_alive_handler
                    )
                elif self._unread:
                    self.transport.abort()
                else:
                    super().timeout_keep_alive_handler()

            def handle_websocket_upgrade(self, event: h11.Request) -> None:
                # From here on the connection is another protocol's, which this one must not outlive.
                self._head_timer.cancel()
                super().handle_websocket_upgrade(event)

            def connection_lost(self, exc: Exception | None) -> None:
                timer = getattr(self, "_head_timer", None)
                if timer:
                    timer.cancel()
                super().connection_lost(exc)

        return Bounded


#: The versions whose inside `_WebSocket` knows. Another extension may have brought a newer one: that takes its own way.
_KNOWN_UVICORN = "0.54."


class _WebSocket(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket, also as a `websocket.Channel`."""

    on_message: Callable[[str | None], None] | None = None

    def handle_connect(self, event: Request) -> None:
        self.app_state = {**self.app_state, "channel": self}
        super().handle_connect(event)

    def send_receive_event_to_app(self) -> None:
        # While the app has yet to take a message from uvicorn's queue, reading is paused: none overtakes another.
        if self.on_message is None or self.close_sent:
            super().send_receive_event_to_app()
            return
        data = self.frames[0] if len(self.frames) == 1 else b"".join(self.frames)
        try:
            text = data.decode() if self.curr_msg_data_type == "text" else None
        except UnicodeDecodeError:
            super().send_receive_event_to_app()  # which says so and hangs up
            return
        self.frames = []
        self.on_message(text)

    def write_now(self, text: str) -> bool:
        if self.disconnected or not self.writable.is_set():
            return False
        try:
            self.conn.send_text(text.encode())
        except InvalidState:
            return False
        self.transport.write(b"".join(self.conn.data_to_send()))
        return True


class _Server(uvicorn.Server):
    """Says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    def install_signal_handlers(self) -> None:
        """Blender's signals are not ours."""
