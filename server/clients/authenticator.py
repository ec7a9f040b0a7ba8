# SPDX-License-Identifier: GPL-3.0-or-later
"""Authenticates clients by named, revocable tokens, after the check of Host and Origin (`authority`).

Only the token counts, not a client's own description of itself. Each client has its own token, so that revoking one
client does not affect the others. The file stores only SHA-256 digests: tokens are 256 random bits, so nobody can
compute a token from its digest, and a stolen file admits nobody. No sockets and no `bpy`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs

from ...base import private_file
from ...base.errors import SettingsError
from ...base.process import threads
from .authority import Names, read_authority, read_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = (
    "ENVIRONMENT_CLIENT",
    "LOCAL_CLIENT",
    "SUBPROTOCOL",
    "TOKEN_SUBPROTOCOL",
    "Authenticator",
    "Client",
    "Entry",
    "Refusal",
    "TokenStore",
    "new_token",
)

#: The WebSocket sub-protocol of MCP. A client that can set neither a header nor a query may offer its token
#: as a second sub-protocol, `mcp.token.<token>`; the server only ever selects `mcp`.
SUBPROTOCOL = "mcp"
TOKEN_SUBPROTOCOL = "mcp.token."  # noqa: S105 - the prefix, not a token

#: The white space allowed around a header's value (RFC 9110, 5.6.3); Python's `strip` removes more than that.
_OWS = " \t"
_FORMAT = 1
#: An unused configuration is dropped when the same client's configuration is copied again after this time (seconds).
_UNUSED_LIFETIME_S = 24 * 3600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Client:
    """The client that owns a request's token. `id` never changes; `name` was set when the token was created."""

    id: str
    name: str


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


@dataclass(frozen=True, slots=True)
class Entry:
    """One token as the file stores it. Times are ISO 8601 in UTC; `revoked` is None while the token is valid.

    `copied` has the values of the copied configuration (paths, port); `clients.config.snippets` compares them later.
    `every_tool`: this client's list has all tools, not only the common ones.
    """

    id: str
    name: str
    sha256: str
    created: str
    last_used: str | None = None
    revoked: str | None = None
    copied: Mapping[str, str] = field(default_factory=dict)
    every_tool: bool = False

    @property
    def client(self) -> Client:
        """The client that owns this token."""
        return Client(self.id, self.name)


def new_token() -> str:
    """Return a new token: 256 random bits, in characters that need no quoting anywhere."""
    return secrets.token_urlsafe(32)


class TokenStore:
    """The tokens of this user, shared by all of the user's Blenders through one file.

    A token created or revoked in one Blender counts in the others at once: each check looks at the file (one `stat`).
    Every method raises `SettingsError` when the file cannot be read or written.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        # One value, replaced in one step: the server's thread and the panel both read it.
        self._cached: tuple[tuple[int, int, int] | None, tuple[Entry, ...]] = (None, ())
        #: Ids of clients whose day of use a thread is about to store.
        self._noting: set[str] = set()

    def entries(self) -> tuple[Entry, ...]:
        """Return all tokens, including revoked ones, oldest first."""
        stamp = self._file_stamp()
        known, entries = self._cached
        if stamp != known:
            entries = self._load()
            self._cached = (stamp, entries)
        return entries

    def mint(
        self, name: str, *, copied: Mapping[str, str] | None = None, replaces: str = ""
    ) -> tuple[Entry, str]:
        """Create a token for the client `name`; returns its entry and the token, which cannot be read again later.

        A second token for the same client is named `name 2`, and so on, so that each can be recognized and revoked.
        `replaces` is the id of a client that the new one replaces; its entry is removed.
        """
        token = new_token()
        with self._edit() as entries:
            entries[:] = [
                entry for entry in entries if entry.id != replaces and not self._lapsed(entry, name)
            ]
            entry = Entry(
                id=secrets.token_hex(4),
                name=_free_name(name, {entry.name for entry in entries if entry.revoked is None}),
                sha256=_digest(token),
                created=self._now(),
                copied=dict(copied or {}),
            )
            entries.append(entry)
        return entry, token

    def revoke(self, client_id: str) -> bool:
        """Revoke a client's token; False if there is no such client or its token is already revoked."""
        with self._edit() as entries:
            for index, entry in enumerate(entries):
                if entry.id == client_id and entry.revoked is None:
                    entries[index] = replace(entry, revoked=self._now())
                    return True
        return False

    def list_every_tool(self, client_id: str, every: bool) -> None:
        """Set whether this client's list has all tools, or only the common ones."""
        with self._edit() as entries:
            entries[:] = [
                replace(entry, every_tool=every) if entry.id == client_id else entry for entry in entries
            ]

    def lists_every_tool(self, client_id: str) -> bool:
        """Return whether this client's list has all tools."""
        return any(entry.every_tool for entry in self.entries() if entry.id == client_id)

    def forget(self, client_id: str) -> None:
        """Remove a revoked client from the list; a valid client stays."""
        with self._edit() as entries:
            entries[:] = [entry for entry in entries if entry.id != client_id or entry.revoked is None]

    def good(self) -> frozenset[str]:
        """Return the ids of the clients with a valid token."""
        return frozenset(entry.id for entry in self.entries() if entry.revoked is None)

    def find(self, token: str) -> Entry | None:
        """Return the entry of `token`, even a revoked one, or None. Takes the same time for an unknown token."""
        digest = _digest(token)
        found = None
        for entry in self.entries():
            if hmac.compare_digest(entry.sha256, digest):
                found = entry
        return found

    def authenticate(self, token: str) -> Client | None:
        """Return the client with this valid token, or None. Once a day, have the day of use stored."""
        entry = self.find(token)
        if entry is None or entry.revoked is not None:
            return None
        return self.used(entry)

    def used(self, entry: Entry) -> Client:
        """Return the client. Once a day, have its day of use stored."""
        if (entry.last_used or "")[:10] != self._now()[:10]:
            self._note_use(entry.id)
        return entry.client

    def _note_use(self, client_id: str) -> None:
        """Store the day of use in a thread, as that waits for the disk: one thread for any number of requests."""
        if client_id not in self._noting:
            self._noting.add(client_id)
            try:
                threads.start(self._store_use, client_id, name="a token's use")
            except RuntimeError as error:  # a valid client gets in even if no thread can start
                self._noting.discard(client_id)
                _log.warning("the use of a token was not noted: %s", error)

    def _store_use(self, client_id: str) -> None:
        try:
            with self._edit() as entries:
                entries[:] = [
                    replace(entry, last_used=self._now()) if entry.id == client_id else entry
                    for entry in entries
                ]
        except SettingsError as error:  # a valid client gets in even if the disk is full
            _log.warning("the use of a token was not noted: %s", error)
        finally:
            self._noting.discard(client_id)

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")

    def _lapsed(self, entry: Entry, name: str) -> bool:
        if entry.name.rstrip(" 0123456789") != name.rstrip(" 0123456789") or entry.last_used or entry.revoked:
            return False
        age = self._clock() - datetime.fromisoformat(entry.created).timestamp()
        return age > _UNUSED_LIFETIME_S

    @contextmanager
    def _edit(self) -> Iterator[list[Entry]]:
        """Change the list under its lock: read it at the start, and write it at the end if there is no error."""
        try:
            with private_file.lock(self.path):
                entries = list(self._load())
                yield entries
                self._save(entries)
        except OSError as error:
            raise self._unusable(error) from error

    def _file_stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(error) from error
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _load(self) -> tuple[Entry, ...]:
        try:
            data = private_file.read(self.path)
            return () if data is None else tuple(_parse(json.loads(data)))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise self._unusable(error) from error

    def _save(self, entries: Iterable[Entry]) -> None:
        record = {"format": _FORMAT, "clients": [asdict(entry) for entry in entries]}
        private_file.write(self.path, json.dumps(record, indent=1).encode())

    def _unusable(self, error: Exception) -> SettingsError:
        return SettingsError(
            f"The list of clients in {self.path} cannot be used ({error}). "
            "Mend or delete that file; after deleting it every client needs a new configuration."
        )


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
        self._fixed = {_digest(token): client for token, client in (fixed or {}).items() if token}

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
        digest = _digest(token)
        found = [client for known, client in self._fixed.items() if hmac.compare_digest(known, digest)]
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


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _free_name(name: str, taken: Collection[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free = f"{name} {number}"
        number += 1
    return free


def _parse(record: Any) -> Iterable[Entry]:
    if record["format"] != _FORMAT:
        raise ValueError(f"its format is {record['format']}, this version knows {_FORMAT}")
    return [Entry(**fields) for fields in record["clients"]]


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
