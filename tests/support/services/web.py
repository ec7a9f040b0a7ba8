# SPDX-License-Identifier: GPL-3.0-or-later
"""A real HTTP server on a loopback port that answers as a test says, with every fault of a service."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ("Reply", "Request", "Web", "file_record")


@dataclass
class Request:
    """A request that arrived. Header names are in lower case; `query` has the last value of each name."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    """An answer, and its faults.

    `cut` ends the connection after so many bytes of the body; `announced` is a Content-Length other than the true one;
    `pause` seconds pass before each `piece` bytes; `endless` repeats the body without an end; `ranges` says whether
    clients can get parts.
    """

    body: bytes | str | dict[str, Any] | list[Any] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    announced: int | None = None
    pause: float = 0.0
    piece: int = 1 << 16
    endless: bool = False
    ranges: bool = False

    @property
    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()

    @property
    def kind(self) -> str:
        names = {bytes: "application/octet-stream", str: "text/plain"}
        return names.get(type(self.body), "application/json")


Route = Reply | list[Reply] | Callable[[Request], Reply]


class Web:
    """The server. `seen` has every request.

    `routes` maps a path to a reply, to a list of replies (one each time, the last for ever), or to a function of the
    request; other paths give 404.
    """

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.seen: list[Request] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web._serve(self)

            do_POST = do_PUT = do_HEAD = do_GET

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Web:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def paths(self) -> list[str]:
        return [request.path for request in self.seen]

    def add_file(self, path: str, data: bytes, **more: Any) -> dict[str, Any]:
        """Serve a file, and return its record as Poly Haven writes it."""
        self.routes[path] = Reply(data, ranges=True, **more)
        return file_record(self.url + path, data)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        body = handler.rfile.read(int(headers.get("content-length", 0)))
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        request = Request(handler.command, parts.path, query, headers, body)
        self.seen.append(request)
        try:
            _send(handler, request, self._reply(request))
        except OSError:
            handler.close_connection = True  # the client has disconnected

    def _reply(self, request: Request) -> Reply:
        route = self.routes.get(request.path, Reply("Not found", 404))
        if isinstance(route, list):
            return route.pop(0) if len(route) > 1 else route[0]
        return route if isinstance(route, Reply) else route(request)


def file_record(url: str, data: bytes) -> dict[str, Any]:
    return {"url": url, "md5": hashlib.md5(data).hexdigest(), "size": len(data)}


def _send(handler: BaseHTTPRequestHandler, request: Request, reply: Reply) -> None:
    data, status = reply.data, reply.status
    headers = {"Content-Type": reply.kind, **reply.headers}
    wanted = request.headers.get("range", "")
    if reply.ranges and wanted.startswith("bytes="):
        start = int(wanted[6:].partition("-")[0])
        if start >= len(data):
            data, status = b"", 416
        elif request.headers.get("if-range") in (None, headers.get("ETag")):
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            data, status = data[start:], 206
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    if reply.endless:
        handler.send_header("Connection", "close")
    else:
        handler.send_header("Content-Length", str(len(data) if reply.announced is None else reply.announced))
    handler.end_headers()
    shown = data if reply.cut is None else data[: reply.cut]
    while True:
        for at in range(0, len(shown), reply.piece):
            time.sleep(reply.pause)
            handler.wfile.write(shown[at : at + reply.piece])
            handler.wfile.flush()
        if not reply.endless:
            break
    if reply.cut is not None or reply.announced is not None or reply.endless:
        handler.close_connection = True
