# SPDX-License-Identifier: GPL-3.0-or-later
"""Authenticates clients by their tokens (`token_store`), after the check of Host and Origin (`authority`).

Only the token counts, not a client's own description of itself. No sockets and no `bpy`.
"""

from __future__ import annotations

import hmac
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs

from ...base.errors import SettingsError
from .authority import Names, read_authority, read_origin
from .token_store import Client, Entry, TokenStore, digest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = (
    "ENVIRONMENT_CLIENT",
    "LOCAL_CLIENT",
    "SUBPROTOCOL",
    "TOKEN_SUBPROTOCOL",
    "Authenticator",
    "Refusal",
)

#: The WebSocket sub-protocol of MCP. A client that can set neither a header nor a query may offer its token
#: as a second sub-protocol, `mcp.token.<token>`; the server only ever selects `mcp`.
SUBPROTOCOL = "mcp"
TOKEN_SUBPROTOCOL = "mcp.token."  # noqa: S105 - the prefix, not a token

#: The white space allowed around a header's value (RFC 9110, 5.6.3); Python's `strip` removes more than that.
_OWS = " \t"
_log = logging.getLogger(__name__)


#: The client with the token from the environment variable `BLENDER_MCP_TOKEN`.
ENVIRONMENT_CLIENT = Client("environment", "BLENDER_MCP_TOKEN")
#: The stdio shim without a token of its own: it uses this run's token from the discovery record.
LOCAL_CLIENT = Client("local", "Local stdio client")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason to refuse a request: an HTTP status, and a sentence for the reader of the client's log.

    `revoked`: the token was valid once, so the client may get the reason as an MCP error.
    """

    status: int
    message: str
    revoked: bool = False


class Paired(Protocol):
    """The part of `pairing.Pairings` that the authenticator uses."""

    def client_of(self, token: str) -> Entry | Refusal | None: ...


class Authenticator:
    """Checks the requests of one running bridge: its Host and Origin headers, and its token.

    The server listens on `host` and `port`. `allowed_hosts` are further names (`BLENDER_MCP_ALLOWED_HOSTS`), each with
    or without a port. `fixed` maps tokens that are not in the store (the local one of this run, the environment's) to
    their clients. `pairings`: set if the user can be asked; the local token then only lets a program ask for access.

    Raises SettingsError for an invalid name in `allowed_hosts`.
    """

    def __init__(
        self,
        store: TokenStore,
        *,
        port: int,
        host: str = "127.0.0.1",
        allowed_hosts: Collection[str] = (),
        fixed: Mapping[str, Client] | None = None,
        pairings: Paired | None = None,
    ) -> None:
        self._store = store
        self._pairings = pairings
        self._port = port
        try:
            self._names = Names(port, host, allowed_hosts)
        except ValueError as error:
            raise SettingsError(f"BLENDER_MCP_ALLOWED_HOSTS: {error}") from None
        #: Ids of the clients that used a revoked token: their configuration needs a new one.
        self.turned_away: set[str] = set()
        #: Ids of the clients that came in with a token of the store, until their token is revoked.
        self.came_in: set[str] = set()
        self._fixed = {digest(token): client for token, client in (fixed or {}).items() if token}

    def check_source(self, headers: Iterable[tuple[bytes, bytes]]) -> Refusal | None:
        """Check only Host and Origin, for a page that needs no token. Header names have ASGI's form."""
        fields = _fields(headers)
        return self._check_host(fields.get("host", [])) or self._check_origin(fields.get("origin", []))

    def authorize(self, headers: Iterable[tuple[bytes, bytes]], query: bytes = b"") -> Client | Refusal:
        """Return the client of a request, or a refusal. Call it before the handshake's 101 and before reading a body.

        `headers` and `query` are ASGI's: byte pairs, and the raw query string. The token comes from
        `Authorization: Bearer`, else from `?token=`, else from a sub-protocol `mcp.token.<token>`.
        """
        headers = list(headers)
        token = self.check_source(headers) or _token(_fields(headers), query)
        if isinstance(token, Refusal):
            return token
        client = self._fixed_client(token)
        if client == LOCAL_CLIENT and self._pairings is not None:
            return Refusal(403, "A program without a token of its own has to ask first: POST /pair.")
        return client or self._from_store(token)

    def may_ask(self, headers: Iterable[tuple[bytes, bytes]]) -> Refusal | None:
        """Return None if a program may ask for access: it must send this run's token from the discovery record."""
        headers = list(headers)
        token = self.check_source(headers) or _token(_fields(headers), b"")
        if isinstance(token, Refusal):
            return token
        if self._pairings is None or self._fixed_client(token) != LOCAL_CLIENT:
            return Refusal(403, "Only a program with the token of the discovery record can ask to come in.")
        return None

    def _fixed_client(self, token: str) -> Client | None:
        wanted = digest(token)
        found = [client for known, client in self._fixed.items() if hmac.compare_digest(known, wanted)]
        return found[0] if found else None

    def shut_out(self) -> frozenset[str]:
        """Return the ids of clients that came in and whose token is no longer valid, each id only once.

        Any Blender may have revoked or removed it. Raises SettingsError if the store cannot be read.
        """
        gone = frozenset(self.came_in - self._store.good())
        self.came_in -= gone
        return gone

    def _check_host(self, values: list[str]) -> Refusal | None:
        if len(values) != 1:
            return Refusal(400, "A request needs exactly one Host header.")
        if self._names.has(read_authority(values[0])):
            return None
        return Refusal(
            403,
            f"Host {values[0]!r} is not allowed. "
            f"Use 127.0.0.1:{self._port}, or add the name to BLENDER_MCP_ALLOWED_HOSTS.",
        )

    def _check_origin(self, values: list[str]) -> Refusal | None:
        """Accept a request without an Origin or with our own: browsers always send one, programs do not."""
        if not values or (len(values) == 1 and self._names.has(read_origin(values[0]))):
            return None
        shown = ", ".join(map(repr, values))
        return Refusal(403, f"Origin {shown} is not allowed: web pages may not control Blender.")

    def _from_store(self, token: str) -> Client | Refusal:
        try:
            paired = self._pairings.client_of(token) if self._pairings else None
            if isinstance(paired, Refusal):
                return paired
            entry = paired or self._store.find(token)
            client = self._store.used(paired) if paired else self._store.authenticate(token)
        except SettingsError as error:
            _log.error("%s", error)
            return Refusal(503, "Blender's list of clients cannot be read; Blender's MCP panel says more.")
        if client:
            self.came_in.add(client.id)
            return client
        if entry:
            self.turned_away.add(entry.id)
            text = f"The token of {entry.name!r} was revoked in Blender. {_COPY_AGAIN}"
            return Refusal(401, text, revoked=True)
        return Refusal(401, f"This token is not known to Blender. {_COPY_AGAIN}")


_COPY_AGAIN = "In Blender's MCP panel use Copy Client Configuration and replace the old one by it."


def _fields(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for name, value in headers:
        fields.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip(_OWS))
    return fields


def _token(fields: Mapping[str, list[str]], query: bytes) -> str | Refusal:
    authorization = fields.get("authorization", [])
    if len(authorization) > 1:
        return Refusal(400, "A request may have only one Authorization header.")
    if authorization:
        scheme, _, token = authorization[0].strip(_OWS).partition(" ")
        if scheme.lower() != "bearer" or not token.strip(_OWS):
            return Refusal(401, "Authorization must be 'Bearer <token>'.")
        return token.strip(_OWS)
    asked = parse_qs(query.decode("latin-1")).get("token", [])
    offered = [
        name.strip(_OWS).removeprefix(TOKEN_SUBPROTOCOL)
        for value in fields.get("sec-websocket-protocol", [])
        for name in value.split(",")
        if name.strip(_OWS).startswith(TOKEN_SUBPROTOCOL)
    ]
    for token in (*asked, *offered):
        return token
    return Refusal(401, f"A token is needed: 'Authorization: Bearer <token>'. {_COPY_AGAIN}")
