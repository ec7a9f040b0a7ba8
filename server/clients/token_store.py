# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of this user's clients: each has a named, revocable token of its own.

So revoking one client does not affect the others. The file stores only SHA-256 digests: tokens are 256 random bits, so
nobody can compute a token from its digest, and a stolen file admits nobody. No sockets and no `bpy`.
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
from typing import TYPE_CHECKING, Any

from ...base import private_file
from ...base.errors import SettingsError
from ...base.process import threads
from . import discovery

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ("Client", "Entry", "TokenStore", "digest", "new_token", "token_store")

_FORMAT = 1
#: An unused configuration is dropped when the same client's configuration is copied again after this time (seconds).
_UNUSED_LIFETIME_S = 24 * 3600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Client:
    """The client that owns a request's token. `id` never changes; `name` was set when the token was created."""

    id: str
    name: str


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


def token_store() -> TokenStore:
    """Return the store of this user."""
    return TokenStore(discovery.user_folder() / "clients.json")


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
                sha256=digest(token),
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
        wanted = digest(token)
        found = None
        for entry in self.entries():
            if hmac.compare_digest(entry.sha256, wanted):
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


def digest(token: str) -> str:
    """The SHA-256 of a token, in hexadecimal digits."""
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
