# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections to the services: which hosts may be reached, how, and how to end a transfer at any time.

Only HTTPS to the hosts of a `Site`, at public addresses, including redirects, and only if Blender may go online. No
`bpy`.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import re
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from ...base.enabling import online
from ...base.errors import BridgeError, Cancelled, ExternalServiceError
from ...base.flag import Flag
from ...base.process import threads

__all__ = (
    "POLL_S",
    "Broken",
    "Cancelled",
    "HttpError",
    "Site",
    "TooSlow",
    "ascii_url",
    "megabytes",
    "opened",
    "shown",
)

#: Seconds without a byte after which a connection counts as dead.
SILENCE_S = 20.0
#: Seconds between two checks whether the transfer was cancelled.
POLL_S = 0.05

#: IPv6 networks that contain IPv4 addresses: RFC 6052, RFC 4291.
_NAT64, _COMPATIBLE = ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96")
#: Characters that need no escape in a URL; a service's file names may have others.
_URL_SIGNS = "!#$%&'()*+,/:;=?@[]~"


class HttpError(ExternalServiceError):
    """The service answered with an error: its `status`, and its body in `data` (at most 64 KiB)."""

    def __init__(self, message: str, *, status: int, data: bytes, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.data = data
        self.retry_after = retry_after


class Broken(ExternalServiceError):
    """The connection failed: another try may succeed."""


class TooSlow(ExternalServiceError):
    """The transfer took longer than its time limit."""


@dataclass(frozen=True, slots=True)
class Site:
    """A service on the network.

    `variable` is the environment variable with another base URL, for mirrors and tests. `storage` are further hosts
    for its files; a leading dot allows every subdomain. `named`: a person has set the address in the settings, so it
    may be private and unencrypted.
    """

    #: The name in the setting `asset_services`.
    service: str
    name: str
    variable: str
    default: str
    storage: tuple[str, ...]
    named: bool = False

    @property
    def base(self) -> str:
        """The current base URL, without a slash at its end."""
        return (os.environ.get(self.variable) or self.default).rstrip("/")

    @property
    def mirror(self) -> str | None:
        """The host that a person set: in the environment instead of the service's own, or in the settings."""
        return _host(self.base) if self.named or self.base != self.default else None

    def admit(self, url: str) -> None:
        """Raise ExternalServiceError unless `url` belongs to this service."""
        host, scheme = _host(url), url.partition(":")[0]
        if host == self.mirror and scheme in ("https", "http"):
            return
        if scheme != "https":
            raise ExternalServiceError(f"{self.name} points to {shown(url)}, which is not https: refused.")
        own = (_host(self.default), *self.storage)
        if not any(host == name or (name.startswith(".") and host.endswith(name)) for name in own):
            raise ExternalServiceError(
                f"{self.name} points to the host {host!r}, which is not one of its own: refused."
            )


class _Leash:
    """Shuts down the socket of a transfer that is cancelled or too slow, so that a blocked read ends at once."""

    def __init__(self, site: Site, cancelled: Flag | None, seconds: float) -> None:
        self._site = site
        self._cancelled = cancelled
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._sockets: list[socket.socket] = []
        self._done = threading.Event()

    def __enter__(self) -> _Leash:
        self.check()
        threads.start(self._watch, name="transfer")
        return self

    def __exit__(self, *_raised: object) -> None:
        self._done.set()

    def hold(self, connected: socket.socket) -> None:
        self._sockets.append(connected)

    def check(self) -> None:
        """Raise Cancelled if somebody cancelled, or ExternalServiceError if the time is over."""
        if self._cancelled is not None and self._cancelled.is_set():
            raise Cancelled("Cancelled.")
        if time.monotonic() >= self._until:
            raise TooSlow(
                f"{self._site.name} was too slow: the transfer was stopped after {self._seconds:.0f} s"
            )

    def _watch(self) -> None:
        while not self._done.wait(POLL_S):
            try:
                self.check()
            except BridgeError:
                break
        else:
            return
        # A redirect, or a connection in progress, may still add sockets.
        while not self._done.wait(POLL_S):
            for connected in self._sockets:
                _shut(connected)


def _shut(connected: socket.socket) -> None:
    try:
        # Not `connected.shutdown`: a TLS socket would drop its TLS state under the thread that reads.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
    except OSError:
        return  # already closed


@contextmanager
def opened(
    site: Site, asked: urllib.request.Request, cancelled: Flag | None, seconds: float
) -> Iterator[http.client.HTTPResponse]:
    """Open the response to a request whose URL the site allows; every error has a message for people.

    Raises HttpError, Broken, another ExternalServiceError, Cancelled.
    """
    reason = online.current().barred(site.service)
    if reason:
        raise ExternalServiceError(f"{site.name} can't be reached: {reason}")
    asked.add_header("User-Agent", online.current().user_agent())
    with _Leash(site, cancelled, seconds) as leash:
        opener = _opener(site, leash)
        try:
            with opener.open(asked, timeout=min(SILENCE_S, seconds)) as response:
                yield response
                leash.check()  # a socket after shutdown looks like the end of the file
        except urllib.error.HTTPError as error:
            leash.check()
            raise _http_error(site, error) from None
        except (http.client.HTTPException, OSError) as error:
            leash.check()
            raise _network_error(site, asked.full_url, error) from error
        except ValueError:
            leash.check()  # a TLS socket that was shut down during a read
            raise
        except Broken:
            leash.check()
            raise


def _http_error(site: Site, error: urllib.error.HTTPError) -> HttpError:
    with error:
        try:
            data = error.read(64 * 1024)
        except (OSError, http.client.HTTPException):
            data = b""
    retry_after = _retry_after(error.headers.get("Retry-After"))
    message = f"{site.name} answered {error.code} {error.reason} to {shown(error.url or '')}"
    if detail := _detail(data):
        message += f": {detail}"
    if error.code == 429:
        message += f". It wants fewer requests; try again in {retry_after or 60:.0f} s"
    return HttpError(message + ".", status=error.code, data=data, retry_after=retry_after)


def _detail(data: bytes) -> str:
    """The message in a service's error, if it is for people: plain text, or one of the usual JSON members."""
    text = data.decode("utf-8", "replace").strip()
    try:
        found = json.loads(text)
        while isinstance(found, (dict, list)) and found:
            found = found[0] if isinstance(found, list) else _first_of(found)
        text = found if isinstance(found, str) else ""
    except (ValueError, RecursionError):
        pass
    return "" if text.startswith("<") else re.sub(r"\s+", " ", text)[:200].rstrip(".")


def _first_of(found: Mapping[str, Any]) -> Any:
    return next((found[name] for name in ("detail", "message", "msg", "error") if found.get(name)), None)


def _network_error(site: Site, url: str, error: Exception) -> ExternalServiceError:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, BridgeError):
        return cause if isinstance(cause, ExternalServiceError) else ExternalServiceError(str(cause))
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ExternalServiceError(f"{site.name} could not prove who it is: {cause.verify_message}.")
    if isinstance(cause, TimeoutError):
        return Broken(f"{site.name} did not answer for {SILENCE_S:.0f} s at {shown(url)}")
    if isinstance(cause, http.client.IncompleteRead):
        return Broken(f"{site.name}: the connection ended before all was there")
    return Broken(f"{site.name} can't be reached at {shown(url)}: {cause or type(cause).__name__}")


def _retry_after(text: str | None) -> float | None:
    """Seconds from a Retry-After header, which holds seconds or a date."""
    if not text:
        return None
    try:
        if text.strip().isdecimal():
            return float(text)
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect of a GET to a host of the same service; a request with a body is never sent again."""

    max_redirections = 5

    def __init__(self, site: Site) -> None:
        self._site = site

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        self._site.admit(urljoin(req.full_url, newurl))
        if req.get_method() not in ("GET", "HEAD"):
            raise ExternalServiceError(f"{self._site.name} redirects a {req.get_method()}: refused.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(site: Site, leash: _Leash) -> urllib.request.OpenerDirector:
    """A urllib opener with our connections; it uses the proxies of the environment."""
    proxies = urllib.request.getproxies()
    trusted = {_host(proxy if "://" in proxy else f"http://{proxy}") for proxy in proxies.values()}
    trusted.add(site.mirror or "")

    def connected(connection: http.client.HTTPConnection) -> None:
        leash.hold(connection.sock)
        if connection.host.strip("[]") not in trusted:
            _check_public(connection.sock, site)

    class Http(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            connected(self)

    class Https(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            connected(self)

    class HttpHandler(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Http, req)

    class HttpsHandler(urllib.request.HTTPSHandler):
        def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Https, req, context=_tls())

    return urllib.request.build_opener(HttpHandler, HttpsHandler, _Redirects(site))


def _check_public(connected: socket.socket, site: Site) -> None:
    """Raise ExternalServiceError if a public name led to a private network. Nothing has been sent at this point."""
    address = ipaddress.ip_address(connected.getpeername()[0].partition("%")[0])
    if not _is_public(address):
        connected.close()
        raise ExternalServiceError(f"{site.name} leads to the private address {address}: refused.")


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is public. For an IPv6 address with an IPv4 address inside, the IPv4 address counts."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64 or address in _COMPATIBLE:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


@cache
def _tls() -> ssl.SSLContext:
    """A TLS context with the root certificates of certifi if it is there: not every Blender finds the system's."""
    try:
        import certifi
    except ImportError:
        return ssl.create_default_context()
    return ssl.create_default_context(cafile=certifi.where())


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:  # such as "http://["
        return ""


def ascii_url(url: str) -> str:
    """The URL for a request: characters outside ASCII, and spaces, are escaped."""
    return quote(url, safe=_URL_SIGNS)


def shown(url: str) -> str:
    """A URL for people, without its query, which may hold a signature."""
    return re.sub(r"^[a-z]+://([^/]*@)?", "", url.partition("?")[0])[:200]


def megabytes(size: int) -> str:
    """A number of bytes as a text for people."""
    return (
        f"{size / 1e6:.0f} MB" if size >= 10e6 else f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"
    )
