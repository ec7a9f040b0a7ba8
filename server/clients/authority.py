# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks whether a Host or Origin header names this server.

A loopback port alone does not keep web pages out (DNS rebinding, cross-site WebSockets), so both headers are checked
before the token. They are parsed by their grammar and compared as values; any other form is refused.

Sources: Host is `uri-host [":" port]` (RFC 9110, 7.2), whose parts are those of RFC 3986, 3.2.2 and 3.2.3; Origin is
`scheme "://" host [":" port]` or `null` (RFC 6454, 7.1).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv6Address

__all__ = ("Authority", "Names", "read_authority", "read_origin")

#: `reg-name` (which includes IPv4 addresses) or `IP-literal`, then the port. IPvFuture is not in use yet.
_AUTHORITY = re.compile(
    r"(?:(?P<name>(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)|\[(?P<ipv6>[0-9A-Fa-f:.]+)\])"
    r"(?::(?P<port>[0-9]{0,5}))?"
)
_ORIGIN = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>.*)", re.DOTALL)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Authority:
    """A host, in lower case, with brackets around an IPv6 address; `port` is None if there is none."""

    host: str
    port: int | None = None


def read_authority(text: str) -> Authority | None:
    """Parse a whole text as an authority; None if it is not one."""
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    port = int(found["port"]) if found["port"] else None
    if port is not None and port > 65535:
        return None
    if found["name"] is not None:
        return Authority(found["name"].lower(), port)
    try:
        return Authority(f"[{IPv6Address(found['ipv6']).compressed}]", port)
    except ValueError:
        return None


def read_origin(text: str) -> Authority | None:
    """Parse an Origin header, always with a port; None for anything but an HTTP origin, such as `null`."""
    found = _ORIGIN.fullmatch(text)
    port = _DEFAULT_PORTS.get(found["scheme"].lower()) if found else None
    authority = read_authority(found["authority"]) if found else None
    if port is None or authority is None:
        return None
    return authority if authority.port is not None else Authority(authority.host, port)


class Names:
    """The names of a server on `port`: its loopback names, `host` unless it is a wildcard, and the `allowed` names.

    Each allowed name is for any port or for its own. Raises ValueError for an invalid name in `allowed`.
    """

    def __init__(self, port: int, host: str = "127.0.0.1", allowed: Collection[str] = ()) -> None:
        own = () if host in ("", "0.0.0.0", "::") else (f"[{host}]" if ":" in host else host,)  # noqa: S104
        self._with_port = {Authority(name, port) for name in _LOOPBACK}
        for text in (*own, *allowed):
            named = read_authority(text)
            if named is None:
                raise ValueError(
                    f"{text!r} is no host name: write it as studio.local, studio.local:9876 or [fe80::1]"
                )
            self._with_port.add(Authority(named.host, port) if text in own else named)
        self._any_port = {named.host for named in self._with_port if named.port is None}

    def has(self, authority: Authority | None) -> bool:
        """Return whether an authority is one of these names."""
        return authority is not None and (authority in self._with_port or authority.host in self._any_port)
