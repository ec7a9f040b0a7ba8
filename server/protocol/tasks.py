# SPDX-License-Identifier: GPL-3.0-or-later
"""Presents jobs as tasks of the extension `io.modelcontextprotocol/tasks`.

Source: the extension's specification (modelcontextprotocol/ext-tasks, `specification/draft/tasks.md`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ...base.jobs import KEEP_S, Job
from .messages import content
from .messages.content import Json
from .messages.errors import INTERNAL_ERROR, MissingCapability, RpcError
from .messages.revisions import TASKS_EXTENSION

#: The interval at which a client may poll, in milliseconds.
POLL_INTERVAL_MS = 1000

#: Called with an answer that a client gave.
Deliver = Callable[[Json], None]


def require(capabilities: Mapping[str, Any]) -> None:
    """Raise MissingCapability unless the client declared the extension."""
    if not declared(capabilities):
        raise MissingCapability({"extensions": {TASKS_EXTENSION: {}}})


def declared(capabilities: Mapping[str, Any]) -> bool:
    """Return whether the client declared the extension."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, Mapping) and TASKS_EXTENSION in extensions


def created(job: Job) -> Json:
    """Return the `CreateTaskResult` that answers the call."""
    return {"resultType": "task", **_task(job)}


def detailed(job: Job, inputs: TaskInputs) -> Json:
    """Return the `DetailedTask` that `tasks/get` answers and `notifications/tasks` carries."""
    task = _task(job)
    match job.state:
        case "input_required":
            task["inputRequests"] = inputs.pending(job.id)
        case "completed":
            task["result"] = _result(job.result)
        case "failed":
            task["error"] = failure(job).as_json()
    return task


class TaskInputs:
    """The open requests of jobs to their client. Any thread."""

    def __init__(self) -> None:
        self._open: dict[str, dict[str, tuple[Json, Deliver]]] = {}
        self._used: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def ask(self, job_id: str, key: str, request: Json, deliver: Deliver) -> str:
        """Register a request; returns the key for the client, which is unique within a job."""
        with self._lock:
            used = self._used.setdefault(job_id, set())
            unique, count = key, 1
            while unique in used:
                count += 1
                unique = f"{key}-{count}"
            used.add(unique)
            self._open.setdefault(job_id, {})[unique] = (request, deliver)
        return unique

    def pending(self, job_id: str) -> dict[str, Json]:
        """Return the open requests of a job, by key."""
        with self._lock:
            return {key: request for key, (request, _) in self._open.get(job_id, {}).items()}

    def request(self, job_id: str, key: str) -> Json | None:
        """Return one open request of a job, or None."""
        return self.pending(job_id).get(key)

    def answer(self, job_id: str, key: str, answer: Json) -> None:
        """Deliver an answer; ignores an answer that no request waits for."""
        with self._lock:
            found = self._open.get(job_id, {}).pop(key, None)
        if found:
            found[1](answer)

    def forget(self, job_id: str) -> None:
        """Remove the requests of a job that has ended."""
        with self._lock:
            self._open.pop(job_id, None)
            self._used.pop(job_id, None)


def _task(job: Job) -> Json:
    task: Json = {
        "taskId": job.id,
        "status": job.state,
        "createdAt": _iso(job.created),
        "lastUpdatedAt": _iso(job.updated),
        # A working job is never dropped; an ended one is kept for KEEP_S.
        "ttlMs": int((job.updated - job.created + KEEP_S) * 1000) if job.ended else None,
        "pollIntervalMs": POLL_INTERVAL_MS,
    }
    message = job.error or job.message or _progress(job)
    if message:
        task["statusMessage"] = message
    return task


def _progress(job: Job) -> str:
    return f"{job.title}: {job.progress:g} of {job.total:g}" if job.total else job.title


def _result(result: Any) -> Json:
    """Return a job's result as a `CallToolResult`; jobs that no tool call began have plain JSON results."""
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        return result
    block, structured = content.text_and_structure(result)
    return {"content": [block], "structuredContent": structured}


def failure(job: Job) -> RpcError:
    """Return the error that says why a job has failed."""
    if isinstance(job.result, dict) and "code" in job.result:
        return RpcError(**job.result)
    return RpcError(INTERNAL_ERROR, job.error or "The work failed")


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
