# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that flood a server, each kind in a process of its own, so that only the server is short of time.

python floods.py KIND PORT TOKEN     # until it is killed
"""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

__all__ = ("KINDS", "flood", "frame")

MB = 1_000_000
_PAD = b"x" * MB


@contextmanager
def flood(kind: str, port: int, token: str) -> Iterator[subprocess.Popen[str]]:
    """Run one kind of flood until this context ends."""
    process = subprocess.Popen(
        [sys.executable, __file__, kind, str(port), token], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        yield process
        assert process.poll() is None, f"{kind} has ended by itself"
    finally:
        process.kill()
        process.wait()


class _Client:
    """A WebSocket that sends any bytes."""

    def __init__(self, port: int, token: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /mcp?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            more = self.socket.recv(4096)
            if not more:
                raise ConnectionError("the server has hung up")
            head += more
        if b" 101 " not in head:
            raise ConnectionError(head.decode())


def frame(opcode: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    """Return a client's frame, with a mask of zeros, which costs the client nothing."""
    length = len(payload)
    first = (0x80 if final else 0) | opcode
    if length < 126:
        return struct.pack("!BB4x", first, 0x80 | length) + payload
    return struct.pack("!BBQ4x", first, 0xFF, length) + payload


def _again(connect_and_send: Callable[[], None]) -> None:
    """Connect again whenever the server closes the connection."""
    while True:
        try:
            connect_and_send()
        except OSError:
            time.sleep(0.05)


def _empty_continuations(port: int, token: str) -> None:
    client = _Client(port, token)
    client.socket.sendall(frame(1, b'"', final=False))
    many = frame(0, final=False) * 10_000
    while True:
        client.socket.sendall(many)


def _pings(port: int, token: str) -> None:
    client = _Client(port, token)
    many = frame(9, b"x") * 10_000
    while True:
        client.socket.sendall(many)


def _message(number: int, method: str, params: dict[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


_INFO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "flood", "version": "1"}}


def _unread_answers(port: int, token: str) -> None:
    client = _Client(port, token)
    client.socket.sendall(frame(1, _message(0, "initialize", _INFO)))
    for number in count(1, 2):
        lists = frame(1, _message(number, "tools/list", {}))
        scene = frame(1, _message(number + 1, "tools/call", {"name": "get_scene_info"}))
        client.socket.sendall(lists + scene)


def _large_messages(port: int, token: str) -> None:
    client = _Client(port, token)
    client.socket.sendall(frame(1, _message(0, "initialize", _INFO)))
    before, after = _message(1, "ping", {"pad": "?"}).split(b"?")
    head = frame(1, bytes(len(before) + 60 * MB + len(after)))[:14]
    while True:
        _send_large(client, head + before, after)
        client.socket.recv(65536)


def _send_large(client: _Client, before: bytes, after: bytes) -> None:
    for part in (before, *[_PAD] * 60, after):
        client.socket.sendall(part)


def _half_messages(port: int, token: str) -> None:
    client = _Client(port, token)
    _send_large(client, frame(1, bytes(60 * MB + 2))[:14] + b'"', b"")
    client.socket.recv(65536)
    client.socket.close()


def _head(port: int, token: str, more: str) -> bytes:
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{more}\r\n\r\n"
    ).encode()


def _slow_body(port: int, token: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(_head(port, token, "Content-Length: 100000"))
        while True:
            connection.sendall(b" ")
            time.sleep(0.5)


def _tiny_chunks(port: int, token: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(_head(port, token, "Transfer-Encoding: chunked"))
        many = b"1\r\n \r\n" * 10_000
        while True:
            connection.sendall(many)


def _pipelined(port: int, token: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        many = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() * 1000
        threading.Thread(target=_read_on, args=(connection,), daemon=True).start()
        while True:
            connection.sendall(many)


def _read_on(connection: socket.socket) -> None:
    while connection.recv(1 << 20):
        pass


#: The function of each kind, and its number of connections.
KINDS: dict[str, tuple[Callable[[int, str], None], int]] = {
    "empty continuation frames": (_empty_continuations, 1),
    "the same on 20 connections": (_empty_continuations, 20),
    "pings": (_pings, 1),
    "unread answers": (_unread_answers, 1),
    "twenty messages of 60 MB": (_large_messages, 20),
    "twenty halves of 60 MB": (_half_messages, 20),
    "slow bodies": (_slow_body, 64),
    "bodies in tiny chunks": (_tiny_chunks, 4),
    "requests in a pipeline": (_pipelined, 4),
}


def main(kind: str, port: int, token: str) -> None:
    """Flood until killed."""
    act, connections = KINDS[kind]
    for _ in range(connections):
        threading.Thread(target=_again, args=(lambda: act(port, token),), daemon=True).start()
    time.sleep(0.5)
    print("begun", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
