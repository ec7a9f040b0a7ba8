# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands between a client and Blender and writes down what each says: a JSON object a line, with `from` and `message`.

As a program it is the server that a client starts: `TAP_LOG=FILE TAP_SHIM=stdio_shim.py python tap.py`. `HttpTap` is a
port in front of Blender's, for clients that connect by address.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ("HttpTap", "WebSocketTap", "read")


class _Log:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def note(self, who: str, message: object) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"from": who, "message": message}) + "\n")

    def text(self, who: str, line: bytes) -> None:
        with contextlib.suppress(ValueError):
            self.note(who, json.loads(line))


def read(path: Path) -> list[dict[str, Any]]:
    """What was written down, the first first."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def _watch(client: socket.socket, server: socket.socket, answered: threading.Event, log: _Log) -> None:
    """A client that goes before it is answered lets Blender's end go, too."""
    while not answered.is_set():
        with contextlib.suppress(OSError, ValueError):
            if select.select([client], [], [], 0.2)[0] and not client.recv(1, socket.MSG_PEEK):
                log.note("client", {"gone": True})
                server.shutdown(socket.SHUT_RDWR)
                return


class HttpTap:
    """A port that passes requests on to `port`."""

    def __init__(self, port: int, log: Path) -> None:
        noted = _Log(log)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                noted.text("client", body)
                behind = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                answered = threading.Event()
                own = ("connection", "host")  # the tap's, which Blender would refuse
                headers = {key: value for key, value in self.headers.items() if key.lower() not in own}
                try:
                    behind.request(self.command, self.path, body or None, headers)
                    watching = (self.connection, behind.sock, answered, noted)
                    threading.Thread(target=_watch, args=watching, daemon=True).start()
                    answer = behind.getresponse()
                    self.send_response(answer.status)
                    for key, value in answer.getheaders():
                        if key.lower() not in ("transfer-encoding", "connection", "content-length"):
                            self.send_header(key, value)
                    self.send_header("Connection", "close")
                    self.end_headers()
                    self.close_connection = True
                    for line in answer:
                        noted.text("server", line.removeprefix(b"data: "))
                        self.wfile.write(line)
                        self.wfile.flush()
                except (OSError, ValueError, AttributeError, http.client.HTTPException):
                    pass  # one of both has gone
                finally:
                    answered.set()
                    behind.close()

            do_GET = do_POST = do_DELETE = _pass_on

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> HttpTap:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class WebSocketTap:
    """A port that passes messages on to the WebSocket of `port`, with the token."""

    def __init__(self, port: int, token: str, log: Path) -> None:
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.client import connect
        from websockets.sync.connection import Connection
        from websockets.sync.server import ServerConnection, serve

        noted = _Log(log)

        def pass_on(source: Connection, target: Connection, who: str) -> None:
            with contextlib.suppress(ConnectionClosed):
                for text in source:
                    noted.text(who, text.encode() if isinstance(text, str) else text)
                    target.send(text)
            if who == "client":
                noted.note("client", {"gone": True})
            target.close()

        def handle(client: ServerConnection) -> None:
            url = f"ws://127.0.0.1:{port}/mcp?token={token}"
            with connect(url, subprotocols=["mcp"], proxy=None, max_size=None) as server:  # type: ignore[list-item]
                threading.Thread(target=pass_on, args=(server, client, "server"), daemon=True).start()
                pass_on(client, server, "client")

        self._server = serve(handle, "127.0.0.1", 0, subprotocols=["mcp"], max_size=None)  # type: ignore[list-item]
        self.port: int = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> WebSocketTap:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()


def _pipe(source: BinaryIO, target: BinaryIO, who: str, log: _Log) -> None:
    for line in source:
        log.text(who, line)
        target.write(line)
        target.flush()
    if who == "client":
        log.note("client", {"gone": True})
    target.close()


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(
            number, lambda *_: None
        )  # ends when the client closes its end, so that its last word is heard
    log = _Log(Path(os.environ["TAP_LOG"]))
    shim = subprocess.Popen(
        [sys.executable, os.environ["TAP_SHIM"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert shim.stdin
    assert shim.stdout
    threading.Thread(target=_pipe, args=(sys.stdin.buffer, shim.stdin, "client", log), daemon=True).start()
    _pipe(shim.stdout, sys.stdout.buffer, "server", log)
    return shim.wait()


if __name__ == "__main__":
    sys.exit(main())
