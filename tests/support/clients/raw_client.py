# SPDX-License-Identifier: GPL-3.0-or-later
"""A minimal WebSocket client (RFC 6455), so that a measurement shows the server and not the client."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from typing import Any, TypeVar

__all__ = ("RawClient",)

T = TypeVar("T", int, bytes)
_PIECE = 1 << 16
_SUCCESS = b'"isError":false'


class RawClient:
    """One connection to a bridge, after the MCP handshake of 2025-11-25. Not for more than one thread."""

    def __init__(self, port: int, token: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._id = 0
        self._rest = bytearray()
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET /mcp?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Protocol: mcp\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._socket.recv(4096)
        if b" 101 " not in head:
            raise ConnectionError(head.decode("latin-1"))
        info = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its result."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    @staticmethod
    def prepared(tool: str, **arguments: Any) -> bytes:
        """Return a call of a tool for `call_prepared`."""
        return json.dumps({"name": tool, "arguments": arguments}).encode()

    def call_prepared(self, params: bytes) -> None:
        """Call a tool without JSON of our own: where the time or the processor's time of this client would count.

        Of the answer it looks only at whether it is one.
        """
        self.ask_prepared(params)
        self.take_answer()

    def ask_prepared(self, params: bytes) -> None:
        """Send the call of `call_prepared`; `take_answer` waits for its answer."""
        self._id += 1
        self.send(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%b}' % (self._id, params))

    def take_answer(self) -> None:
        """Wait for the answer to `ask_prepared`. Raises RuntimeError for an answer that is no success."""
        answer = self.receive()
        while not answer.startswith(b'{"jsonrpc":"2.0","id":%d,' % self._id):  # a notification
            answer = self.receive()
        if _SUCCESS not in answer:
            raise RuntimeError(answer[:1000])

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request, wait for its answer, and return the result."""
        self._id += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}).encode())
        answer = json.loads(self.receive())
        while "id" not in answer:  # a notification, such as that the list of tools has changed
            answer = json.loads(self.receive())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def send(self, data: bytes) -> None:
        """Send one text frame. The mask is zero: masking in Python would be most of the measurement."""
        length = len(data)
        if length < 126:
            head = struct.pack("!BB", 0x81, 0x80 | length)
        elif length < 1 << 16:
            head = struct.pack("!BBH", 0x81, 0xFE, length)
        else:
            head = struct.pack("!BBQ", 0x81, 0xFF, length)
        self._socket.sendall(head + b"\0\0\0\0" + data)

    def receive(self) -> bytearray:
        """Return the next message. The server does not fragment, and sends no ping."""
        _, short = self._read(2)
        length = short & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", self._read(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._read(8))
        return self._read(length)

    def fileno(self) -> int:
        """The number of its socket."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection, without a closing handshake."""
        self._socket.close()

    def _read(self, count: int) -> bytearray:
        """Return this many bytes. What came with them waits for the next call, so that a message takes one recv."""
        data = self._rest[:count]
        del self._rest[:count]
        if len(data) == count:
            return data
        missing = count - len(data)
        if missing < _PIECE:
            while len(self._rest) < missing:
                self._rest += self._received(self._socket.recv(_PIECE))
            return data + self._read(missing)
        whole = bytearray(count)
        whole[: len(data)] = data
        view = memoryview(whole)[len(data) :]
        while view:
            view = view[self._received(self._socket.recv_into(view)) :]
        return whole

    @staticmethod
    def _received(got: T) -> T:
        if not got:
            raise ConnectionError("the server has closed the connection")
        return got


class CubeClient(RawClient):
    """A client that asks for the facts about the cube, again and again."""

    _call = RawClient.prepared("get_object_info", name="Cube")

    def ask(self) -> None:
        """Send the call, without waiting for the answer."""
        self.ask_prepared(self._call)

    def take(self) -> None:
        """Wait for the answer. Raises RuntimeError for one that is no success."""
        self.take_answer()
