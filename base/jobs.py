# SPDX-License-Identifier: GPL-3.0-or-later
"""One registry of long work: requests, rehearsals, renders, downloads.

Work that takes longer than a call may wait is a job: it has an id, reports progress, can be cancelled, and keeps its
result until the registry drops it. States are those of the MCP tasks extension. No `bpy`; thread-safe.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from .errors import InvalidParamsError
from .flag import Cancellation
from .signal import Signal

__all__ = ("ENDED", "PANEL", "QUESTION", "Job", "JobHandle", "Jobs", "State", "registry")

State = Literal["working", "input_required", "completed", "failed", "cancelled"]
ENDED: frozenset[State] = frozenset({"completed", "failed", "cancelled"})
assert frozenset(get_args(State)) > ENDED

#: The kind of a job that waits for the user's answer.
QUESTION = "request"
#: The owner of work that the user started in Blender itself.
PANEL = "panel"
#: How long (seconds) and how many ended jobs are kept, so that a client that lost its connection can ask again.
KEEP_S = 3600.0
KEEP_COUNT = 200


@dataclass(frozen=True, slots=True)
class Job:
    """The state of a job at one moment. `created` and `updated` are seconds since the epoch."""

    id: str
    kind: str
    title: str
    #: The id of the client that owns the job; only that client sees it.
    owner: str
    state: State
    created: float
    updated: float
    progress: float = 0.0
    total: float | None = None
    message: str = ""
    result: Any = None
    error: str | None = None
    #: More about the progress as JSON, and a picture of the result so far (JPEG).
    details: Mapping[str, Any] | None = None
    picture: bytes | None = None

    @property
    def ended(self) -> bool:
        """Whether it is completed, failed or cancelled."""
        return self.state in ENDED


@dataclass(slots=True)
class _Entry:
    job: Job
    cancelled: Cancellation = field(default_factory=Cancellation)
    on_cancel: Callable[[], None] | None = None


class JobHandle:
    """The worker's side of a job: it reports progress, learns that the job is cancelled, and ends the job."""

    def __init__(self, jobs: Jobs, entry: _Entry) -> None:
        self._jobs = jobs
        self._entry = entry
        self.id = entry.job.id

    @property
    def cancelled(self) -> Cancellation:
        """Set once somebody cancels the job."""
        return self._entry.cancelled

    def report(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Report progress. A value that is not above the last one only replaces the message."""
        self._jobs._change(
            self._entry,
            lambda job: replace(
                job,
                progress=max(progress, job.progress),
                total=total or job.total,
                message=message or job.message,
            ),
        )

    def show(self, details: Mapping[str, Any], picture: bytes | None) -> None:
        """Report details in the form that this kind of job uses. Without a picture, the last picture stays."""
        self._jobs._change(
            self._entry, lambda job: replace(job, details=details, picture=picture or job.picture)
        )

    def become(self, kind: str, title: str) -> None:
        """Give the job of an answered question the kind and title of its work. Other jobs keep theirs."""
        self._jobs._change(
            self._entry, lambda job: replace(job, kind=kind, title=title) if job.kind == QUESTION else job
        )

    def wait_for_input(self, message: str) -> None:
        """Mark the job as waiting for an answer; `message` is the question."""
        self._jobs._change(self._entry, lambda job: replace(job, state="input_required", message=message))

    def resume(self) -> None:
        """Mark the job as working again, after somebody answered."""
        self._jobs._change(self._entry, lambda job: replace(job, state="working", message=""))

    def complete(self, result: Any) -> None:
        """End the job successfully. If a job is ended more than once, the first call counts."""
        self._jobs._change(self._entry, lambda job: replace(job, state="completed", result=result))

    def fail(self, error: str, result: Any = None) -> None:
        """End the job with an error that a person can read."""
        self._jobs._change(self._entry, lambda job: replace(job, state="failed", error=error, result=result))

    def on_cancel(self, act: Callable[[], None]) -> None:
        """Call `act` on the thread that cancels the job, or at once if the job is already cancelled."""
        self._entry.on_cancel = act
        if self._entry.cancelled.is_set():
            act()


class Jobs:
    """The registry. `clock` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._entries: dict[str, _Entry] = {}
        self._listeners: Signal[[Job]] = Signal()
        self._lock = threading.RLock()

    def begin(self, kind: str, title: str, owner: str, *, job_id: str | None = None) -> JobHandle:
        """Register work that is about to start."""
        now = self._clock()
        job = Job(job_id or secrets.token_urlsafe(12), kind, title, owner, "working", now, now)
        entry = _Entry(job)
        with self._lock:
            self._forget(now)
            self._entries[job.id] = entry
        self._listeners.emit(job)
        return JobHandle(self, entry)

    def get(self, job_id: str, owner: str) -> Job:
        """The current state of a job. Raises InvalidParamsError when this owner has no such job."""
        return self._entry(job_id, owner).job

    def list(self, owner: str) -> list[Job]:
        """This owner's jobs, the newest first."""
        with self._lock:
            found = [entry.job for entry in self._entries.values() if entry.job.owner == owner]
        return found[::-1]

    def going_on(self) -> tuple[Job, ...]:
        """The jobs of all owners that have not ended, the oldest first."""
        with self._lock:
            return tuple(entry.job for entry in self._entries.values() if not entry.job.ended)

    def with_details(self) -> tuple[Job, ...]:
        """The jobs of all owners that tell more than how far they are, ended ones too, the newest first."""
        with self._lock:
            found = tuple(e.job for e in self._entries.values() if e.job.details is not None)
        return found[::-1]

    def cancel(self, job_id: str, owner: str) -> Job:
        """Ask the work to stop and mark the job as cancelled. A job that has ended does not change."""
        entry = self._entry(job_id, owner)
        with self._lock:
            ended = entry.job.ended
            self._change(entry, lambda job: replace(job, state="cancelled", error="Cancelled"))
        if not ended:
            entry.cancelled.set()
            if entry.on_cancel is not None:
                entry.on_cancel()
        return entry.job

    def cancel_all(self) -> None:
        """Cancel every job, because the bridge stops."""
        with self._lock:
            open_jobs = [entry.job for entry in self._entries.values() if not entry.job.ended]
        for job in open_jobs:
            self.cancel(job.id, job.owner)

    def listen(self, listener: Callable[[Job], None]) -> Callable[[], None]:
        """Call `listener` after each change, on the thread that made the change. Returns a function that ends this."""
        return self._listeners.connect(listener)

    def _entry(self, job_id: str, owner: str) -> _Entry:
        with self._lock:
            entry = self._entries.get(job_id)
        if entry is None or entry.job.owner != owner:
            raise InvalidParamsError(f"There is no job {job_id!r}. list_jobs shows yours.")
        return entry

    def _change(self, entry: _Entry, change: Callable[[Job], Job]) -> None:
        with self._lock:
            if entry.job.ended:
                return
            entry.job = job = replace(change(entry.job), updated=self._clock())
        self._listeners.emit(job)

    def _forget(self, now: float) -> None:
        ended = [entry.job for entry in self._entries.values() if entry.job.ended]
        for index, job in enumerate(reversed(ended)):
            if index >= KEEP_COUNT or now - job.updated > KEEP_S:
                del self._entries[job.id]


#: The jobs of this Blender.
registry = Jobs()
