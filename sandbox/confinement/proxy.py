# SPDX-License-Identifier: GPL-3.0-or-later
"""The egress proxy: a confined process's only way to the network, open to listed hosts alone.

It listens inside the process's network namespace, on a socket that the launcher made there and sent over, and connects
from outside. It takes CONNECT for TLS, and plain requests with an absolute URL, as HTTP clients send to a proxy; a
plain request gets one answer per connection.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from ...base.process import threads

__all__ = ("EgressProxy", "Refusal", "allows")

_log = logging.getLogger(__name__)

_WEB_PORTS = (80, 443)
_HEAD_LIMIT = 64 * 1024
_TIMEOUT_S = 30.0
_MOST_CONNECTIONS = 32
_CHUNK = 64 * 1024
_LONGEST_HOST, _LAST_PORT = 253, 65535
_HOST_AND_PORT = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>\d{1,5}))?", re.I)


class Refusal(Exception):
    """Tells that the proxy refuses a request; the message is for the process and the journal."""


def allows(allowed_hosts: Iterable[str], host: str, port: int) -> bool:
    """Return whether a list such as ("polyhaven.org", "*.sketchfab.com", "127.0.0.1:8080") allows a host and port."""
    host = host.lower().rstrip(".")
    for entry in allowed_hosts:
        name, ports = _split(entry)
        below = name.startswith("*.") and host.endswith(name[1:])
        if (host == name or below) and port in ((ports,) if ports else _WEB_PORTS):
            return True
    return False


def _split(text: str) -> tuple[str, int | None]:
    match = _HOST_AND_PORT.fullmatch(text)
    if match is None:
        raise Refusal(f"{text[:80]!r} is no host and port")
    return (match["v6"] or match["host"]).lower(), int(match["port"]) if match["port"] else None


@dataclass(slots=True)
class EgressProxy:
    """Serves one listener until it is closed. Calls `refused(host)` for each host that it turns away."""

    listener: socket.socket
    allowed_hosts: tuple[str, ...]
    refused: Callable[[str], None]

    def start(self) -> None:
        """Serve in threads of its own."""
        threads.start(self._serve, name="egress proxy")

    def close(self) -> None:
        """Accept no more connections."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _serve(self) -> None:
        free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            free.acquire()
            threads.start(self._answer, client, free, name="egress")

    def _answer(self, client: socket.socket, free: threading.BoundedSemaphore) -> None:
        with client, _given_back(free), contextlib.suppress(OSError):
            client.settimeout(_TIMEOUT_S)
            try:
                server, first = self._connect(_head(client))
            except Refusal as refusal:
                client.sendall(_plain_answer("403 Forbidden", str(refusal)))
            except OSError as error:
                client.sendall(_plain_answer("502 Bad Gateway", f"the host cannot be reached: {error}"))
            else:
                with server:
                    if first:
                        server.sendall(first)
                    else:
                        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    _relay(client, server)

    def _connect(self, head: bytes) -> tuple[socket.socket, bytes]:
        """Return the connection that the request asks for, and what to send over it first."""
        line, _, rest = head.partition(b"\r\n")
        try:
            method, target, version = line.decode("ascii").split(" ")
        except ValueError:
            raise Refusal("this is no HTTP request") from None
        if method == "CONNECT":
            host, port = _split(target)
            return self._reach(host, port or 443), b""
        try:
            parts = urlsplit(target)
            port = parts.port or 80
        except ValueError:
            raise Refusal("this is no URL") from None
        if parts.scheme != "http" or not parts.hostname:
            raise Refusal("only CONNECT and http:// URLs go through this proxy")
        path = target.split(parts.netloc, 1)[1] or "/"
        # One request per connection: a second one could name another host.
        kept = [
            field
            for field in rest.split(b"\r\n")
            if not field.lower().startswith((b"proxy-", b"connection:"))
        ]
        first = b"\r\n".join([f"{method} {path} {version}".encode(), b"Connection: close", *kept])
        return self._reach(parts.hostname, port), first

    def _reach(self, host: str, port: int) -> socket.socket:
        if len(host) > _LONGEST_HOST or port > _LAST_PORT:
            raise Refusal("this is no host and port")
        if not allows(self.allowed_hosts, host, port):
            self.refused(f"{host}:{port}")
            raise Refusal(f"{host}:{port} is not among the allowed hosts")
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        if not _is_literal(host) and not _is_public(str(address[0])):
            # A listed name that points into the user's own network would open that network.
            self.refused(f"{host}:{port}")
            raise Refusal(f"{host} has an address in a private network")
        server = socket.socket(family, kind, protocol)
        server.settimeout(_TIMEOUT_S)
        server.connect(address)
        return server


def _is_public(address: str) -> bool:
    """Return whether an address is on the internet; an IPv4 address inside an IPv6 one counts as IPv4."""
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or found.sixtofour or found
    return found.is_global and not found.is_multicast


@contextlib.contextmanager
def _given_back(taken: threading.BoundedSemaphore) -> Iterator[None]:
    try:
        yield
    finally:
        taken.release()


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _head(client: socket.socket) -> bytes:
    """Return a request's line and fields, with the bytes that came after them."""
    data = bytearray()
    while b"\r\n\r\n" not in data:
        chunk = client.recv(_CHUNK)
        if not chunk or len(data) > _HEAD_LIMIT:
            raise Refusal("the request is cut off or too long")
        data += chunk
    return bytes(data)


def _plain_answer(status: str, message: str) -> bytes:
    body = message.encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def _relay(client: socket.socket, server: socket.socket) -> None:
    """Pass bytes both ways until either side has ended."""

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(_CHUNK):
                target.sendall(chunk)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    upstream = threads.start(pump, client, server, name="egress upstream")
    pump(server, client)
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RD)
    upstream.join()
