# SPDX-License-Identifier: GPL-3.0-or-later
"""The approval queue: every request goes through it. It checks the order of steps, and that an approval counts once.

Only `take` leads to a run: it returns a confirmed script exactly once, and only if the script is the approved one and
the scene has not changed since the approval. Thread-safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..base.errors import Breakout, InvalidParamsError, PolicyError
from .alerts import outside
from .request import (
    Approval,
    Asks,
    BPYExecutionRecord,
    Entry,
    Former,
    InjectScriptRequest,
    OutOfTurn,
    SceneChanged,
)
from .request_list import RequestList

__all__ = ("WAIT_LIMIT_S", "ApprovalQueue")

#: A request without an answer expires after this time (seconds).
WAIT_LIMIT_S = 3600.0


class ApprovalQueue(RequestList):
    """The steps of each request, from its text to its run."""

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

    def store_script(self, request_id: str, script: str) -> Entry:
        """Store the script from the text, and note what it tries to reach outside Blender."""
        with self._lock:
            entry = self._open(request_id)
            reached = ", ".join(outside(script)) if entry.request.tool != "question" else ""
            log = f"script found; it tries to use {reached}" if reached else "script found"
            return self._move(entry, "extracted", log, script=script, alert=reached or entry.alert)

    def refuse_text(self, request_id: str, reason: str, *, attempts: int = 1) -> Entry:
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

    def store_validation(self, request_id: str, validation: Mapping[str, Any]) -> Entry:
        """Store the result of the validation. A rehearsal may follow unless `is_valid` is false."""
        if not validation.get("is_valid", True):
            return self._step(request_id, "extracted", "checked, and not valid", validation=validation)
        return self._step(request_id, "validated", "valid", validation=validation, reason="")

    def store_rehearsal(
        self, request_id: str, result: Mapping[str, Any], summary: str, revision: int
    ) -> Entry:
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
                self.send_back(request_id)
                raise SceneChanged
            return self._move(entry, "confirmed", "running", approval=None, running=True)

    def send_back(self, request_id: str) -> Entry:
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

    def postpone(self, request_id: str, why: str) -> Entry:
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

    def store_result(
        self, request_id: str, result: Mapping[str, Any], *, revision: int | None = None
    ) -> Entry:
        """Store a successful run; `revision` is the scene's revision after it."""
        with self._lock:
            entry = self._open(request_id)
            if not entry.running:
                raise OutOfTurn(f"request {request_id} was not running")
            record = replace(entry.record, live_result=result)
            return self._move(
                entry, "applied", "applied", record=record, running=False, applied_revision=revision
            )

    def note_undo(self, request_id: str, *, again_at: int | None = None) -> Entry:
        """Note that the user has undone the run or, with `again_at` (the revision after that), redone it."""
        with self._lock:
            entry, undone = self.get(request_id), again_at is None
            if entry.state != "applied" or entry.undone is undone:
                raise OutOfTurn(f"request {request_id} cannot be {'undone' if undone else 'done again'}")
            at = entry.applied_revision if undone else again_at
            entry = replace(entry, undone=undone, applied_revision=at, updated=self._clock())
            return self._put(entry, f"{'undone' if undone else 'done again'} by the user")

    def fail(self, request_id: str, reason: str, *, broke_out: bool = False) -> Entry:
        """Note that the run failed; the scene is as before. `broke_out`: the script tried to leave the sandbox."""
        alert = {"broke_out": reason} if broke_out else {}
        return self._step(
            request_id, "failed", f"failed: {reason}", reason=reason, approval=None, running=False, **alert
        )

    def store_failed_rehearsal(self, request_id: str, result: Mapping[str, Any]) -> Entry:
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

    # --- within ----------------------------------------------------------------------------------------------

    def _agree(self, entry: Entry, approval: Approval) -> Entry:
        record = replace(entry.record, user_confirmed=True if approval.by != "policy" else None)
        return self._move(entry, "confirmed", f"confirmed by {approval.by}", record=record, approval=approval)


_VOID: Mapping[str, Any] = {"approval": None, "revision": None, "summary": "", "reason": "", "former": None}


def _same(one: InjectScriptRequest, other: InjectScriptRequest) -> bool:
    """Whether two requests are equal apart from their id and time."""
    return replace(one, id="", timestamp=0.0) == replace(other, id="", timestamp=0.0)
