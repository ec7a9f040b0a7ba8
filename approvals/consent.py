# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask the user for an approval, in Blender's panel or through the client. Nothing else asks.

`confirm` asks a single question: about a large download, a paid order, a file to overwrite. Code that runs a script
asks with `answer`, after the rehearsal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ..base import jobs, journal
from ..base.errors import PolicyError
from ..base.telemetry import tracing
from ..base.until import until
from ..scene import events
from . import queue
from .caller import Caller, CannotBeAsked
from .request import Entry
from .submit import PENDING, submit, working_on
from .whom_to_ask import CANNOT_ASK_CLIENT, asked_at, can_be_asked

__all__ = ("answer", "confirm", "why_not")

_NOBODY_ANSWERED = (
    "Nobody could be asked: the client cancelled the question, as clients do that run without a person. Nothing was "
    "done. Don't repeat it here: the user can do this in an interactive session of the client, be asked in Blender's "
    "MCP panel instead (BLENDER_MCP_CONFIRM=panel), or let execute_blender_code run unasked (BLENDER_MCP_CONFIRM=auto)."
)
_DECLINED = (
    "The user said no in the client, or the client said it by itself, as clients do that run without a person. Nothing "
    "was done. Don't repeat it unless the user wants it; a user who saw no question can be asked in Blender's MCP "
    "panel instead (BLENDER_MCP_CONFIRM=panel)."
)
_NOT_TICKED = "the form came back without a tick at Apply"
#: A scene without a change for this many seconds is at rest.
_REST_S = 1.5
_REASON = {"type": "string", "title": "If not, why", "description": "The assistant is told"}
_APPLY: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "apply": {
            "type": "boolean",
            "title": "Apply",
            "description": "Run this script in the open scene",
            "default": False,
        },
        "reason": _REASON,
    },
    "required": ["apply"],
}
_ALLOW: Mapping[str, Any] = {"type": "object", "properties": {}}


async def confirm(context: Caller, key: str, question: str, *, title: str, otherwise: str) -> None:
    """Return when the user has said yes to `question`. Raises PolicyError for a no, or if nobody can be asked.

    `key` names the question within this call. As with `RequestContext.elicit`, the handler may run again from its
    start, so its earlier steps must be safe to repeat. The panel's list shows `title`. If nobody can be asked,
    `otherwise` is the message of the error. Waiting for the panel makes the call a job, so the tool's output schema has
    to allow `{"status": "pending", "job_id", "message"}`.
    """
    asks = asked_at(context, "question")
    if not can_be_asked(context, asks):
        raise PolicyError(otherwise, code="not_confirmed")
    entry = submit(context, "question", question, title=title, asks=asks)
    requests = queue()
    with working_on(entry) as mine:
        if not mine:
            raise PolicyError(
                "the user is already being asked this question: wait for the answer", code="not_confirmed"
            )
        if entry.state == "received":
            requests.store_script(entry.id, question)
            requests.store_validation(entry.id, {})
            entry = requests.ask(entry.id, revision=0, unrehearsed=question)
        if entry.state == "waiting" and asks == "panel":
            await context.background(
                jobs.QUESTION, title, job_id=entry.id, message=PENDING.format(id=entry.id)
            )
        entry = await answer(context, entry, question, key=key)
        if entry.state == "cancelled" or entry.reason == _DECLINED:
            raise PolicyError(why_not(entry), code="not_confirmed")
        if entry.state != "confirmed":
            reason = f": {entry.reason}" if entry.reason else ""
            raise PolicyError(f"The user said no to this ({question}){reason}", code="not_confirmed")
        await asyncio.to_thread(journal.current().barrier)  # the yes is on the disk before what it allows
        requests.take(entry.id, revision=0)
        requests.store_result(entry.id, {"status": "success"})


async def answer(context: Caller, entry: Entry, question: str, *, key: str) -> Entry:
    """Wait until the user has decided about a waiting request, or it has ended otherwise; returns its new state."""
    with tracing.span("ask the user", asks=entry.asks):
        return await (
            _by_panel(entry) if entry.asks == "panel" else _by_client(context, entry, question, key)
        )


def why_not(entry: Entry) -> str:
    """The reason for a missing approval, as a text for the assistant."""
    if entry.reason in (_NOBODY_ANSWERED, _DECLINED):
        return entry.reason
    if entry.state == "denied":
        return (
            f"The user denied it: {entry.reason}" if entry.reason else "The user denied it, without a reason."
        )
    return f"The request is {entry.state}: {entry.reason}"


async def _by_panel(entry: Entry) -> Entry:
    """Wait until the user has decided in the panel, or the request has ended otherwise.

    For a script it also returns, in the state `waiting`, when the scene has changed and is at rest again.
    """
    requests, seen = queue(), entry.revision
    decided = asyncio.ensure_future(until(requests.listen, lambda: requests.get(entry.id).state != "waiting"))
    try:
        while entry.request.tool != "question":
            done, _ = await asyncio.wait({decided}, timeout=_REST_S)
            before, seen = seen, events.revision()
            if done or (before == seen != entry.revision):
                break
        else:
            await decided
    finally:
        decided.cancel()
    return requests.get(entry.id)


async def _by_client(context: Caller, entry: Entry, question: str, key: str) -> Entry:
    """Ask by elicitation: a script needs a ticked box in a form, any other question a plain yes."""
    requests, revision = queue(), entry.revision
    assert revision is not None  # set in the state `waiting`
    runs = entry.request.tool != "question"
    try:
        reply = await context.elicit(key, question, dict(_APPLY if runs else _ALLOW))
    except CannotBeAsked as error:
        raise PolicyError(CANNOT_ASK_CLIENT, code="confirm") from error
    if reply["action"] == "cancel":
        return requests.cancel(entry.id, _NOBODY_ANSWERED)
    filled = reply.get("content") or {}
    if reply["action"] == "accept" and (filled.get("apply") is True or not runs):
        by = f"the user through {entry.request.requester}"
        return requests.confirm(entry.id, sha256=entry.sha256, revision=revision, by=by)
    reason = str(filled.get("reason", ""))[:1000]
    return requests.deny(entry.id, reason or (_NOT_TICKED if reply["action"] == "accept" else _DECLINED))
