# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs uvicorn in a daemon thread, on a socket that is bound first, so that a busy port is known before the start."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import uvicorn

from ...base.errors import ExternalServiceError
from ...base.process import threads
from .http_protocol import HttpProtocol, Shared
from .turns import Turns
from .websocket_protocol import WebSocketProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from .asgi import App

#: The seconds that an idle HTTP connection stays open for the next request.
KEEP_ALIVE_SECONDS = 75
#: The open connections for each one in use: idle ones stay open for the next request.
IDLE_FACTOR = 4
#: The seconds that open requests may take to end when the server stops.
GRACE_SECONDS = 2

_log = logging.getLogger(__name__)


class PortBusy(ExternalServiceError):
    """Tells that another program listens on that port."""


def bind(host: str, port: int) -> socket.socket:
    """Bind a socket and listen; port 0 takes any free one. Raises PortBusy, ExternalServiceError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "nt":  # on Windows SO_REUSEADDR would let another program take the port over
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
        raise ExternalServiceError(f"Cannot listen on {host}:{port}: {error.strerror or error}") from error
    return listening


class Listener:
    """Serves `app` on a bound socket, from `start` to `stop`."""

    def __init__(self, listening: socket.socket, app: App) -> None:
        self.port: int = listening.getsockname()[1]
        self._socket = listening
        self._app = app
        #: The turns of all connections; set while the server serves.
        self.turns: Turns
        self._server = _Server(
            uvicorn.Config(
                app,
                http=self._protocol,  # type: ignore[arg-type, unused-ignore]
                ws=WebSocketProtocol,
                lifespan="on",
                log_config=None,
                # Above "info": at that level uvicorn logs the URL of each WebSocket, with its token.
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
        """Start serving and return the port. Raises ExternalServiceError if the server is not up within `timeout` s."""
        self._thread.start()
        if not self._server.up.wait(timeout) or self._failure:
            self.stop()
            raise ExternalServiceError(f"The server did not start: {self._failure or 'it took too long'}")
        return self.port

    def call(self, do: Callable[[], None]) -> None:
        """Have the server's loop call `do`. Any thread; does nothing if the server has ended."""
        if self._loop and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(do)
            except RuntimeError:  # the loop closed between the check and the call
                _log.debug("the loop has ended")

    def stop(self, timeout: float = 5.0) -> bool:
        """Stop serving, end connections and join the thread; False if it did not end within `timeout` seconds."""
        self.call(self._app.stop)
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(timeout)
        self._socket.close()
        return not self._thread.is_alive()

    def _protocol(self, *arguments: Any, **named: Any) -> HttpProtocol:
        """Create the protocol of a new connection for uvicorn."""
        shared = Shared(self.turns, self._app.held, self._app.max_connections * IDLE_FACTOR)
        return HttpProtocol(shared, *arguments, **named)

    @property
    def alive(self) -> bool:
        """Whether the server serves."""
        return self._thread.is_alive() and self._server.started

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
            _log.exception("the server has ended")
        finally:
            self._server.up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.turns = Turns(self._loop)
        with threads.pausable(self._loop.call_soon_threadsafe):
            await self._server.serve(sockets=[self._socket])


class _Server(uvicorn.Server):
    """uvicorn's server, which signals when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    def install_signal_handlers(self) -> None:
        """Install no handlers: the signals belong to Blender."""
