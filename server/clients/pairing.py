# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs programs that have no token: each asks once for access, and the user answers in Blender's panel.

A bundle or a link has no token. It starts the stdio shim, which sends `POST /pair` with the name of its client and the
token of the discovery record; this proves that it runs as this user on this computer. Until the user has decided, the
answer is a code. The panel shows the same code, so that the user sees which program asks. An allowed client is in the
list of clients like any other; each run of a Blender makes a new token for it and never stores the token.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .authenticator import Refusal
from .token_store import Entry, TokenStore, new_token

__all__ = ("NotYet", "Pairing", "Pairings")

#: Programs that may ask at the same time; the panel shows all of them.
MOST_ASKING = 3
#: A waiting program asks again every few seconds; after this many seconds without a question it counts as gone.
LAPSE_S = 20.0


class NotYet(Exception):
    """Tells that a program gets no access, or not yet; the message tells its user what to do."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """A program that waits for the user's answer. `asked` is the time of its last question, by `Pairings`' clock."""

    name: str
    code: str
    asked: float


class Pairings:
    """The programs that ask for access, and the tokens of the allowed ones. Any thread.

    Every method raises SettingsError if the list of clients cannot be read or written.
    """

    def __init__(self, store: TokenStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._asking: dict[str, Pairing] = {}
        self._refused: set[str] = set()
        self._tokens: dict[str, str] = {}

    def ask(self, name: str) -> str:
        """Return the token of the program that calls itself `name`. Raises NotYet."""
        with self._lock:
            entry = self._entry(name)
            if entry is not None and entry.revoked is None:
                return self._tokens.setdefault(entry.id, new_token())
            if entry is not None:
                raise NotYet(
                    f"{name} was revoked in Blender. Remove it from the list of clients in the preferences of "
                    "MCP Bridge to be asked again."
                )
            if name in self._refused:
                raise NotYet(
                    f"The user did not allow {name} to connect. To be asked again, stop and start the server in the "
                    "MCP tab of Blender."
                )
            raise NotYet(self._wait(name))

    def _wait(self, name: str) -> str:
        now = self._clock()
        self._asking = {key: one for key, one in self._asking.items() if now - one.asked < LAPSE_S}
        if name not in self._asking and len(self._asking) >= MOST_ASKING:
            return (
                "Other programs wait for the user's answer in the MCP tab of Blender: try again after that."
            )
        code = self._asking[name].code if name in self._asking else _code(self._asking.values())
        self._asking[name] = Pairing(name, code, now)
        return (
            f"{name} is not connected yet: Blender asks in the MCP tab of its sidebar (key N in the 3D view) whether "
            f"it may, and shows the code {code}. Ask the user to press Allow there, then try again."
        )

    def waiting(self) -> tuple[Pairing, ...]:
        """Return the programs that wait for an answer, the oldest first."""
        now = self._clock()
        return tuple(one for one in list(self._asking.values()) if now - one.asked < LAPSE_S)

    def answer(self, code: str, allowed: bool) -> str:
        """Allow or refuse the program with this code; return its name, or "" if no program waits with this code."""
        with self._lock:
            found = next((one for one in self.waiting() if one.code == code), None)
            if found is None:
                return ""
            if allowed:
                self._store.mint(found.name, copied={"paired": found.name})  # the entry's token is never used
            else:
                self._refused.add(found.name)
            del self._asking[found.name]
            return found.name

    def client_of(self, token: str) -> Entry | Refusal | None:
        """Return the client with this token of this run; a refusal if it was revoked; None for any other token."""
        given = token.encode("utf-8", "surrogateescape")
        for client_id, known in list(self._tokens.items()):
            if hmac.compare_digest(known.encode(), given):
                entry = next((one for one in self._store.entries() if one.id == client_id), None)
                if entry is None or entry.revoked is not None:
                    return Refusal(401, "This client was revoked in Blender.", revoked=True)
                return entry
        return None

    def _entry(self, name: str) -> Entry | None:
        """Return the allowed client of this name, a valid entry before a revoked one; None if there is none."""
        found = [entry for entry in self._store.entries() if entry.copied.get("paired") == name]
        return next((entry for entry in found if entry.revoked is None), found[-1] if found else None)


def _code(taken: Iterable[Pairing]) -> str:
    """Return a code of four digits that no waiting program has."""
    used = {one.code for one in taken}
    while True:
        digits = f"{secrets.randbelow(10_000):04}"
        if (code := f"{digits[:2]}-{digits[2:]}") not in used:
            return code
