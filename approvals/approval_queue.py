# SPDX-License-Identifier: GPL-3.0-or-later
"""The approval queue: every request goes through it. It checks the order of steps, and that an approval counts once.

Only `take` leads to a run: it returns a confirmed script exactly once, and only if the script is the approved one and
the scene has not changed since the approval. Thread-safe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..base.errors import Breakout, InvalidParamsError, PolicyError
from ..base.signal import Signal
from .alerts import outside
from .request import (
    ENDED_EARLY,
    NEXT,
    Approval,
    Asks,
    BPYExecutionRecord,
    Entry,
    Former,
    InjectScriptRequest,
    OutOfTurn,
    SceneChanged,
    State,
    new_id,
)

__all__ = ("KEEP_COUNT", "MOST_OPEN", "WAIT_LIMIT_S", "ApprovalQueue", "OutOfTurn", "SceneChanged", "new_id")

#: A request without an answer expires after this time (seconds).
WAIT_LIMIT_S = 3600.0
#: How many ended requests the queue keeps.
KEEP_COUNT = 100
#: How many requests of one client may be open: a list too long to read protects nobody.
MOST_OPEN = 32


def _keep_nothing(_entry: Entry) -> None:
    return


class ApprovalQueue:
    """All requests of this Blender. It calls `keep(entry)` before each change; an exception there stops the change."""

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

    # --- an assistant's steps ---------------------------------------------------------------------------------

    def submit(self, request: InjectScriptRequest, *, asks: Asks) -> Entry:
        """Add a request to the queue. If the same request is already open, word for word, return that one instead.

        So a client that repeats a call, or that gets its answer in rounds, does not add its question twice.
        """
        if asks == "nobody" and request.tool != "execute_blender_code":
            raise PolicyError(
                "an injected script is never applied without an explicit approval", code="confirm"
            )
        with self._lock:
            self._admit(request.client_id)
            for entry in self._entries.values() if asks != "nobody" else ():
                if not entry.ended and entry.asks == asks and _same(entry.request, request):
                    return entry
            self._make_room(request.client_id)
            self._forget()
            record = BPYExecutionRecord(request.id)
            return self._put(
                Entry(request, record, asks, self._clock()), f"received from {request.requester}"
            )

    def resubmit(self, request_id: str, client_id: str, script_raw: str) -> Entry:
        """Replace the text of an open request. Its earlier validation, rehearsal and approval are then void."""
        with self._lock:
            entry = self._open(request_id)
            if entry.request.client_id != client_id:
                raise InvalidParamsError(
                    f"there is no request {request_id!r} of yours: leave request_id out for a new one"
                )
            if entry.running:
                raise OutOfTurn(
                    f"the script of request {request_id} is running: send this text as a new request, without "
                    "request_id"
                )
            return self._move(
                entry,
                "received",
                "another text was sent",
                request=replace(entry.request, script_raw=script_raw),
                script="",
                closer="",
                **_VOID,
            )

    def extracted(self, request_id: str, script: str) -> Entry:
        """Store the script from the text, and note what it tries to reach outside Blender."""
        with self._lock:
            entry = self._open(request_id)
            reached = ", ".join(outside(script)) if entry.request.tool != "question" else ""
            log = f"script found; it tries to use {reached}" if reached else "script found"
            return self._move(entry, "extracted", log, script=script, alert=reached or entry.alert)

    def invalid(self, request_id: str, reason: str, *, attempts: int = 1) -> Entry:
        """Note that the text has no script that may run. The request stays open while attempts are left."""
        with self._lock:
            entry = self._open(request_id)
            left = max(0, entry.attempts_left - attempts)
            return self._move(
                entry,
                "received" if left else "rejected",
                f"not valid: {reason}",
                attempts_left=left,
                script="",
                reason=reason,
            )

    def validated(self, request_id: str, validation: Mapping[str, Any]) -> Entry:
        """Store the result of the validation. A rehearsal may follow unless `is_valid` is false."""
        if not validation.get("is_valid", True):
            return self._step(request_id, "extracted", "checked, and not valid", validation=validation)
        return self._step(request_id, "validated", "valid", validation=validation, reason="")

    def rehearsed(self, request_id: str, result: Mapping[str, Any], summary: str, revision: int) -> Entry:
        """Store a successful rehearsal. `revision` is the scene's revision when it was copied."""
        with self._lock:
            entry = self._open(request_id)
            record = replace(entry.record, sandbox_result=result)
            return self._move(
                entry, "rehearsed", "rehearsed", record=record, summary=summary, revision=revision
            )

    def ask(self, request_id: str, *, revision: int, unrehearsed: str = "") -> Entry:
        """Put the question to the user. `unrehearsed` says why there was no rehearsal, if none is required."""
        with self._lock:
            entry = self._open(request_id)
            if entry.state != "rehearsed" and (entry.closer or entry.request.tool == "inject_bpy_script"):
                raise OutOfTurn(f"request {request_id} has to be rehearsed first")
            if entry.state == "rehearsed":
                return self._move(entry, "waiting", "waiting for the user")
            return self._move(
                entry, "waiting", "waiting for the user", revision=revision, summary=unrehearsed
            )

    # --- decisions --------------------------------------------------------------------------------------------

    def confirm(self, request_id: str, *, sha256: str, revision: int, by: str) -> Entry:
        """Approve the script. The digest and the revision must be those that the user saw."""
        with self._lock:
            entry = self._open(request_id)
            if entry.state != "waiting":
                raise OutOfTurn(f"request {request_id} does not wait for an answer: it is {entry.state}")
            if (entry.sha256, entry.revision) != (sha256, revision):
                raise OutOfTurn("the request has changed since it was shown: look at it again")
            return self._agree(entry, Approval(sha256, revision, by))

    def permit(self, request_id: str, *, revision: int) -> Entry:
        """Approve without a question, as the settings or the user's trust allow. Never for `inject_bpy_script`."""
        with self._lock:
            entry = self._open(request_id)
            if entry.asks != "nobody":
                raise OutOfTurn(
                    f"request {request_id} needs an approval: it may not run without a question to the user"
                )
            if entry.closer and entry.state != "rehearsed":
                raise OutOfTurn(f"request {request_id} has to be rehearsed first: {entry.closer}")
            # A rehearsed script may only run in the scene of its rehearsal.
            at = revision if entry.revision is None else entry.revision
            return self._agree(entry, Approval(entry.sha256, at, "policy"))

    def deny(self, request_id: str, reason: str = "") -> Entry:
        """Deny a request; the assistant gets the reason."""
        with self._lock:
            entry = self._open(request_id)
            record = replace(entry.record, user_confirmed=False)
            told = f"denied: {reason}" if reason else "denied"
            return self._move(entry, "denied", told, record=record, reason=reason)

    # --- the run ----------------------------------------------------------------------------------------------

    def take(self, request_id: str, *, revision: int) -> Entry:
        """Return the request for its one run. Raises OutOfTurn unless exactly this script is approved.

        Raises SceneChanged if the scene, now at `revision`, has changed since: rehearse and ask again.
        """
        with self._lock:
            entry = self._open(request_id)
            approval = entry.approval
            if (
                entry.state != "confirmed"
                or entry.running
                or approval is None
                or approval.sha256 != entry.sha256
            ):
                raise OutOfTurn(f"request {request_id} may not run: nobody has approved it")
            if approval.revision != revision:
                self.outdated(request_id)
                raise SceneChanged
            return self._move(entry, "confirmed", "running", approval=None, running=True)

    def outdated(self, request_id: str) -> Entry:
        """Send the request back to its rehearsal, because the scene has changed since.

        The approval is void, unless `uphold` restores it.
        """
        with self._lock:
            entry = self._open(request_id)
            void = {**_VOID, "former": Former.of(entry) or entry.former}
            return self._move(
                entry, "validated", "the scene has changed: it has to be rehearsed again", **void
            )

    def uphold(self, request_id: str) -> Entry:
        """Restore the approval from before the scene changed: the same script gave the same result in the new scene.

        Raises OutOfTurn if the result differs, or if there was no approval.
        """
        with self._lock:
            entry = self._open(request_id)
            former, found = entry.former, entry.record.sandbox_result
            if entry.state != "rehearsed" or entry.revision is None or former is None or not former.by:
                raise OutOfTurn(f"request {request_id} has no earlier approval that could still count")
            if not former.is_same(entry.sha256, found):
                raise OutOfTurn(f"request {request_id} has another result now than the one that was approved")
            return self._agree(entry, Approval(entry.sha256, entry.revision, former.by))

    def postponed(self, request_id: str, why: str) -> Entry:
        """Send a run that was stopped and rolled back to a rehearsal, which has to measure what the script makes.

        Raises OutOfTurn if a rehearsal has measured it already: the script then makes more than it did there.
        """
        with self._lock:
            entry = self._open(request_id)
            if not entry.running or entry.record.sandbox_result is not None:
                raise OutOfTurn(
                    f"request {request_id} cannot be postponed: it was rehearsed, or does not run"
                )
            return self._move(
                entry, "validated", f"has to be rehearsed: {why}", running=False, closer=why, **_VOID
            )

    def applied(self, request_id: str, result: Mapping[str, Any], *, revision: int | None = None) -> Entry:
        """Store a successful run; `revision` is the scene's revision after it."""
        with self._lock:
            entry = self._open(request_id)
            if not entry.running:
                raise OutOfTurn(f"request {request_id} was not running")
            record = replace(entry.record, live_result=result)
            return self._move(
                entry, "applied", "applied", record=record, running=False, applied_revision=revision
            )

    def undone(self, request_id: str, *, again_at: int | None = None) -> Entry:
        """Note that the user has undone the run or, with `again_at` (the revision after that), redone it."""
        with self._lock:
            entry, undone = self.get(request_id), again_at is None
            if entry.state != "applied" or entry.undone is undone:
                raise OutOfTurn(f"request {request_id} cannot be {'undone' if undone else 'done again'}")
            at = entry.applied_revision if undone else again_at
            entry = replace(entry, undone=undone, applied_revision=at, updated=self._clock())
            return self._put(entry, f"{'undone' if undone else 'done again'} by the user")

    def failed(self, request_id: str, reason: str, *, broke_out: bool = False) -> Entry:
        """Note that the run failed; the scene is as before. `broke_out`: the script tried to leave the sandbox."""
        alert = {"broke_out": reason} if broke_out else {}
        return self._step(
            request_id, "failed", f"failed: {reason}", reason=reason, approval=None, running=False, **alert
        )

    def failed_in_rehearsal(self, request_id: str, result: Mapping[str, Any]) -> Entry:
        """Store the report of a rehearsal that failed."""
        with self._lock:
            entry = self._open(request_id)
            record, reason = replace(entry.record, sandbox_result=result), result["message"]
            alert = {"broke_out": reason} if result.get("error", {}).get("cause") == Breakout.__name__ else {}
            return self._move(
                entry,
                "failed",
                f"failed in rehearsal: {reason}",
                record=record,
                reason=reason,
                approval=None,
                **alert,
            )

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

    def _agree(self, entry: Entry, approval: Approval) -> Entry:
        record = replace(entry.record, user_confirmed=True if approval.by != "policy" else None)
        return self._move(entry, "confirmed", f"confirmed by {approval.by}", record=record, approval=approval)

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


_VOID: Mapping[str, Any] = {"approval": None, "revision": None, "summary": "", "reason": "", "former": None}


def _same(one: InjectScriptRequest, other: InjectScriptRequest) -> bool:
    """Whether two requests are equal apart from their id and time."""
    return replace(one, id="", timestamp=0.0) == replace(other, id="", timestamp=0.0)
