# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that report what happens in Blender and by whom, and that undo what the assistant did."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from ... import approvals
from ...approvals import consent, whom_to_ask
from ...base import main_thread
from ...base.errors import InvalidParamsError, PolicyError
from ...base.until import until
from ...sandbox.run import undo
from ...scene import events, history
from ..protocol.context import WAIT_SECONDS, RequestContext
from .registry import tool
from .schema import Bounds

__all__ = ("list_changes", "undo_request", "wait_for_event")

#: Events within these seconds after the awaited event come in the same answer.
_DEBOUNCE_S = 0.25


class EventInfo(TypedDict):
    """One event. `by` is assistant (any client) or user; `number` grows with each."""

    number: int
    what: str
    by: str
    seconds_ago: float
    revision: int
    tool: NotRequired[str]
    title: NotRequired[str]
    names: NotRequired[dict[str, list[str]]]
    facts: NotRequired[dict[str, Any]]


class Events(TypedDict):
    """Events, oldest first; `newest` is the value for `after` in the next call."""

    events: list[EventInfo]
    newest: int
    timed_out: bool


class ChangeList(TypedDict):
    """Changes, oldest first. `complete` is false where older ones were forgotten."""

    changes: list[EventInfo]
    revision: int
    complete: bool


class Undone(TypedDict):
    """The end of an undo; while the user has not answered, `pending` and the job that waits."""

    status: Literal["success", "pending"]
    request_id: NotRequired[str]
    job_id: NotRequired[str]
    message: NotRequired[str]


@tool(title="Wait for Event", read_only=True)
async def wait_for_event(
    context: RequestContext,
    events: list[history.What] | None = None,
    after: Annotated[int, Bounds(0)] | None = None,
    timeout_seconds: Annotated[float, Bounds(0, WAIT_SECONDS)] = 30,
) -> Events:
    """Wait until something happens in Blender: a change, another selection, active object, mode or frame, undo, redo,
    a file loaded or saved, a render ended.

    events: only these; without it any.
    after: `newest` of the last answer, so that nothing between is missed; without it from now on.
    """
    start = history.newest() if after is None else after
    wanted = events or ()
    if not history.since(start, wanted):
        await _happens(start, wanted, timeout_seconds)
    found = history.since(start, wanted)
    return {"events": [_info(one) for one in found], "newest": history.newest(), "timed_out": not found}


@tool(title="List Changes", read_only=True)
def list_changes(
    context: RequestContext,
    since_revision: Annotated[int, Bounds(0)] = 0,
    by: Literal["assistant", "user"] | None = None,
    limit: Annotated[int, Bounds(1, 500)] = 100,
) -> ChangeList:
    """What changed in the open file since a revision, by the assistant and by the user: which objects, materials and
    collections, undo and redo, files loaded.

    since_revision: `revision` of an earlier answer; 0 for all that is remembered.
    by: only what the assistant or the user did.
    limit: at most this many, the newest.
    """
    now = events.settled(quick=True)
    found = [
        one
        for one in history.since(0, ("change", "undo", "redo", "load"))
        if one.revision > since_revision and by in (None, one.by)
    ]
    return {
        "changes": [_info(one) for one in found[-limit:]],
        "revision": now,
        "complete": len(found) <= limit and history.complete_since(since_revision),
    }


@tool(title="Undo Request", destructive=True)
async def undo_request(context: RequestContext, request_id: str) -> Undone:
    """Take back the run of one of your scripts, as long as nothing else has changed since. The user is asked as for
    a script.

    request_id: from the answer of execute_blender_code or inject_bpy_script.
    """
    queue = approvals.queue()
    entry = queue.get(request_id)
    if entry.request.client_id != context.client.id:
        raise InvalidParamsError(f"there is no request {request_id!r} of yours")
    if entry.state != "applied" or entry.undone:
        said = "is undone already" if entry.undone else f"is {entry.state}"
        raise InvalidParamsError(f"Request {request_id} {said}: there is nothing to undo.")
    if whom_to_ask.require_somebody(context, "execute_blender_code") != "nobody":
        await consent.confirm(
            context,
            f"undo-{request_id}",
            f"Undo “{entry.title}”?",
            title=f"Undo “{entry.title}”",
            otherwise="Undoing needs the user's approval, which this client can't ask for.",
        )
    work = main_thread.run(partial(_undo, request_id), cancelled=context.cancelled, label="undo_request")
    await asyncio.wrap_future(work)
    return {"status": "success", "request_id": request_id}


def _undo(request_id: str) -> None:
    queue = approvals.queue()
    if queue.get(request_id).applied_revision != events.settled():
        raise PolicyError(
            "The scene has changed since this script ran, so its run alone cannot be undone: the user can, by "
            "Edit > Undo History.",
            code="scene_changed",
        )
    undo.take_back(request_id)
    queue.note_undo(request_id)


async def _happens(start: int, wanted: Collection[str], seconds: float) -> None:
    """Return shortly after an event since `start`, or after `seconds`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until(history.listen, lambda: bool(history.since(start, wanted)))
        await asyncio.sleep(_DEBOUNCE_S)


def _info(event: history.Event) -> EventInfo:
    info: EventInfo = {
        "number": event.number,
        "what": event.what,
        "by": event.by,
        "seconds_ago": round(time.time() - event.at, 2),
        "revision": event.revision,
    }
    if event.by_what:
        info["tool"] = event.by_what
    if event.title:
        info["title"] = event.title
    if event.names:
        info["names"] = {kind: sorted(names) for kind, names in event.names.items()}
    if event.facts:
        info["facts"] = dict(event.facts)
    return info
