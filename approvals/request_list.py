# SPDX-License-Identifier: GPL-3.0-or-later
"""All requests of this Blender: which there are, which step may follow which, who is trusted, and how requests end.

`approval_queue` adds the steps of a request. Thread-safe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..base.errors import InvalidParamsError, PolicyError
from ..base.signal import Signal
from .request import ENDED_EARLY, NEXT, Entry, OutOfTurn, State

__all__ = ("KEEP_COUNT", "MOST_OPEN", "RequestList")

#: How many ended requests the queue keeps.
KEEP_COUNT = 100
#: How many requests of one client may be open: a list too long to read protects nobody.
MOST_OPEN = 32


def _keep_nothing(_entry: Entry) -> None:
    return


class RequestList:
    """The requests by their ids. It calls `keep(entry)` before each change; an exception there stops the change."""

    def __init__(
        self, keep: Callable[[Entry], None] = _keep_nothing, clock: Callable[[], float] = time.time
    ) -> None:
        self._keep = keep
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._attached: set[str] = set()
        self._trusted: dict[str, str] = {}
        self._revoked: set[str] = set()
        self._listeners: Signal[[Entry]] = Signal()
        self._lock = threading.RLock()

    # --- looking ----------------------------------------------------------------------------------------------

    def get(self, request_id: str) -> Entry:
        """The current state of a request. Raises InvalidParamsError for an unknown id."""
        entry = self._entries.get(request_id)
        if entry is None:
            raise InvalidParamsError(
                f"there is no request {request_id!r}: leave request_id out for a new one"
            )
        return entry

    def entries(self) -> tuple[Entry, ...]:
        """All requests in the queue, the newest first."""
        with self._lock:
            return tuple(self._entries.values())[::-1]

    def listen(self, listener: Callable[[Entry], None]) -> Callable[[], None]:
        """Call `listener` after each change, on the thread that made it. Returns a function that ends this."""
        return self._listeners.connect(listener)

    # --- trust ------------------------------------------------------------------------------------------------

    def trust(self, client_id: str, name: str) -> None:
        """Run this client's `execute_blender_code` unasked until Blender closes; `inject_bpy_script` always asks."""
        with self._lock:
            self._trusted = {**self._trusted, client_id: name}

    def distrust(self, client_id: str) -> None:
        """End a client's trust, so that the user is asked again. Does nothing for a client that is not trusted."""
        with self._lock:
            self._trusted = {known: name for known, name in self._trusted.items() if known != client_id}

    @property
    def trusted(self) -> Mapping[str, str]:
        """Client id -> name, for the trusted clients."""
        return self._trusted

    def revoke(self, client_id: str) -> None:
        """End the trust of a client that the user has revoked, and each of its requests that does not run yet."""
        with self._lock:
            self._revoked.add(client_id)
            self.distrust(client_id)
            for entry in tuple(self._entries.values()):
                if entry.request.client_id == client_id:
                    self.cancel(entry.id, "the client was revoked")

    # --- other ends -------------------------------------------------------------------------------------------

    def reject(self, request_id: str, reason: str) -> Entry:
        """End a request that the policy refuses; the user is not asked."""
        return self._step(request_id, "rejected", f"rejected: {reason}", reason=reason)

    def cancel(self, request_id: str, reason: str = "cancelled by the client") -> Entry:
        """Cancel a request. A request that has ended, or whose script runs, does not change."""
        with self._lock:
            entry = self.get(request_id)
            if entry.ended or entry.running:
                return entry
            return self._move(entry, "cancelled", reason, reason=reason, approval=None)

    def expire(self, reason: str, *, older_than_s: float = 0.0) -> None:
        """End the requests that have waited or stood still for longer than `older_than_s`."""
        with self._lock:
            latest = self._clock() - older_than_s
            for entry in tuple(self._entries.values()):
                if not entry.ended and not entry.running and entry.updated <= latest:
                    self._move(entry, "expired", reason, reason=reason, approval=None)

    def recall(self, entries: Iterable[Entry], reason: str) -> None:
        """Add requests of an earlier Blender to the list. Open ones expire, and none of them runs."""
        with self._lock:
            for entry in entries:
                if entry.id in self._entries:
                    continue
                # This Blender counts its own revisions.
                self._entries[entry.id] = entry = replace(entry, applied_revision=None)
                if not entry.ended:
                    self._move(entry, "expired", reason, reason=reason, approval=None, running=False)
            self._forget()

    # --- who works on it --------------------------------------------------------------------------------------

    def attach(self, request_id: str) -> bool:
        """Claim a request for the calling code; False while another call works on it."""
        with self._lock:
            if request_id in self._attached:
                return False
            self._attached.add(request_id)
            return True

    def detach(self, request_id: str) -> None:
        """End the claim of `attach`."""
        with self._lock:
            self._attached.discard(request_id)

    # --- within -----------------------------------------------------------------------------------------------

    def _admit(self, client_id: str) -> None:
        if client_id in self._revoked:
            raise PolicyError("this client was revoked in Blender", code="revoked")

    def _make_room(self, client_id: str) -> None:
        """If this client has too many open requests, end one that waits for a better text."""
        of_client = [e for e in self._entries.values() if e.request.client_id == client_id and not e.ended]
        if len(of_client) < MOST_OPEN:
            return
        for entry in of_client:
            if entry.state == "received" and entry.id not in self._attached:
                self._move(
                    entry, "expired", "newer requests came instead", reason="newer requests came instead"
                )
                return
        raise PolicyError(
            f"{MOST_OPEN} requests of yours are open, which is the limit: wait until the user has decided about "
            "some, or take some back with cancel_job",
            code="too_many_requests",
        )

    def _open(self, request_id: str) -> Entry:
        entry = self.get(request_id)
        if entry.ended:
            raise OutOfTurn(f"request {request_id} has ended: it is {entry.state}")
        return entry

    def _step(self, request_id: str, state: State, log: str, **changes: Any) -> Entry:
        with self._lock:
            return self._move(self._open(request_id), state, log, **changes)

    def _move(self, entry: Entry, state: State, log: str, **changes: Any) -> Entry:
        if entry.running and changes.get("running") is not False:
            raise OutOfTurn(f"the script of request {entry.id} is running: only its end can change that")
        if state not in NEXT[entry.state] | ENDED_EARLY:
            raise OutOfTurn(f"request {entry.id} is {entry.state}: it cannot become {state}")
        return self._put(replace(entry, state=state, updated=self._clock(), **changes), log)

    def _put(self, entry: Entry, log: str) -> Entry:
        entry = replace(entry, record=replace(entry.record, logs=(*entry.record.logs, log)))
        self._keep(entry)
        self._entries[entry.id] = entry
        self._listeners.emit(entry)
        return entry

    def _forget(self) -> None:
        ended = [entry.id for entry in self._entries.values() if entry.ended]
        for request_id in ended[: max(0, len(ended) - KEEP_COUNT)]:
            del self._entries[request_id]
