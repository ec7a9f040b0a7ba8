# SPDX-License-Identifier: GPL-3.0-or-later
"""The egress proxy: decided by name and port, and tried over real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement.proxy import EgressProxy, allows


@pytest.mark.parametrize(
    ("host", "port", "allowed"),
    [
        ("polyhaven.org", 443, True),
        ("POLYHAVEN.org.", 80, True),
        ("polyhaven.org", 22, False),
        ("evil-polyhaven.org", 443, False),
        ("api.polyhaven.org", 443, False),
        ("media.sketchfab.com", 443, True),
        ("sketchfab.com", 443, False),
        ("evilsketchfab.com", 443, False),
        ("127.0.0.1", 8080, True),
        ("127.0.0.1", 80, False),
        ("::1", 9000, True),
    ],
)
def test_a_list_names_hosts_ports_and_names_below(host: str, port: int, allowed: bool) -> None:
    assert allows(("polyhaven.org", "*.sketchfab.com", "127.0.0.1:8080", "[::1]:9000"), host, port) == allowed


class _Web(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{self.path} for {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def web() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


class _Proxied:
    made: ClassVar[list[_Proxied]] = []

    def __init__(self, *allowed: str) -> None:
        self.refused: list[str] = []
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.proxy = EgressProxy(listener, allowed, self.refused.append)
        self.proxy.start()
        self.made.append(self)

    def ask(self, data: str) -> str:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as client:
            client.sendall(data.encode())
            answer = b""
            while chunk := client.recv(65536):
                answer += chunk
        return answer.decode()


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _Proxied.made:
        _Proxied.made.pop().proxy.close()


def test_a_plain_request_reaches_an_allowed_host_once(web: int) -> None:
    proxied = _Proxied(f"127.0.0.1:{web}")
    one = (
        f"GET http://127.0.0.1:{web}/a?b HTTP/1.1\r\nHost: 127.0.0.1:{web}\r\nProxy-Authorization: x\r\n\r\n"
    )
    answer = proxied.ask(one + one.replace("127.0.0.1", "elsewhere"))
    assert answer.startswith("HTTP/1.0 200")
    assert answer.endswith(f"/a?b for 127.0.0.1:{web}")
    assert answer.count("HTTP/1") == 1, "a second request on the connection is not looked at"
    assert proxied.refused == []


def test_connect_makes_a_tunnel(web: int) -> None:
    answer = _tunnel(_Proxied(f"127.0.0.1:{web}").port, web)
    assert "/inside" in answer


def _tunnel(proxy: int, web: int) -> str:
    with socket.create_connection(("127.0.0.1", proxy), timeout=30) as client:
        client.sendall(f"CONNECT 127.0.0.1:{web} HTTP/1.1\r\n\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        client.sendall(b"GET /inside HTTP/1.0\r\nHost: x\r\n\r\n")
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
    return answer.decode()


@pytest.mark.parametrize(
    ("request_line", "says", "refused"),
    [
        (
            "CONNECT elsewhere.example:443 HTTP/1.1",
            "elsewhere.example:443 is not among the allowed hosts",
            True,
        ),
        (
            "GET http://elsewhere.example/ HTTP/1.1",
            "elsewhere.example:80 is not among the allowed hosts",
            True,
        ),
        ("GET /relative HTTP/1.1", "only CONNECT and http:// URLs", False),
        ("GET ftp://allowed.example/ HTTP/1.1", "only CONNECT and http:// URLs", False),
        ("nonsense", "this is no HTTP request", False),
        ("GET http://[::1/ HTTP/1.1", "this is no URL", False),
        ("GET http://allowed.example:99999/ HTTP/1.1", "this is no URL", False),
        ("CONNECT allowed.example:99999 HTTP/1.1", "this is no host and port", False),
        (f"CONNECT {'a' * 5000}:443 HTTP/1.1", "this is no host and port", False),
        ("CONNECT a:b:c HTTP/1.1", "'a:b:c' is no host and port", False),
    ],
)
def test_what_is_refused_is_told_and_noted(request_line: str, says: str, refused: bool) -> None:
    proxied = _Proxied("allowed.example")
    answer = proxied.ask(request_line + "\r\n\r\n")
    assert answer.startswith("HTTP/1.1 403 Forbidden")
    assert says in answer
    assert bool(proxied.refused) == refused


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1"]
)
def test_an_allowed_name_does_not_open_the_private_network(
    address: str, monkeypatch: pytest.MonkeyPatch, web: int
) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    answer = [(family, socket.SOCK_STREAM, 6, "", (address, web))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: answer)
    proxied = _Proxied(f"allowed.example:{web}")
    assert "has an address in a private network" in _ask_raw(proxied, web)
    assert proxied.refused == [f"allowed.example:{web}"]


def _ask_raw(proxied: _Proxied, web: int) -> str:
    with socket.socket() as client:
        client.settimeout(5)
        client.connect(("127.0.0.1", proxied.port))
        client.sendall(f"GET http://allowed.example:{web}/ HTTP/1.1\r\n\r\n".encode())
        return client.recv(65536).decode()


def test_what_makes_no_sense_takes_no_connection_away() -> None:
    proxied = _Proxied("allowed.example")
    for _ in range(40):  # more than there may be at once
        assert "this is no URL" in proxied.ask("GET http://[::1/ HTTP/1.1\r\n\r\n")
