# SPDX-License-Identifier: GPL-3.0-or-later
"""The way of a request, step by step, on the server's event loop: check, rehearse, ask, run.

What may follow what, and that a yes counts once, is for `sandbox.review.desk` to say. Only preparing a rehearsal
and the run itself take Blender's main thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from .. import main_thread, settings
from ..errors import BridgeError, ExternalServiceError, PolicyError
from ..sandbox import execute, review, rna
from ..sandbox.extract import extract
from ..sandbox.policy import policy
from ..sandbox.rehearsal import rehearse
from ..sandbox.rehearsal.report import as_text
from ..sandbox.review.desk import SceneChanged, new_id
from ..sandbox.review.request import Entry, Mode, Tool
from ..sandbox.validate import validate
from ..scene import events
from .confirming import PENDING, answer, desk, require_somebody, submit, why_not, working_on
from .mcp import tasks
from .mcp.context import RequestContext

__all__ = (
    "Refused",
    "check",
    "desk",
    "dry_run",
    "pending",
    "request_for",
    "run",
    "script_of",
    "working_on",
)

T = TypeVar("T")

_LONGEST_SCRIPT_SHOWN = 20_000


class Refused(PolicyError):
    """The script goes no further; `facts` are added to the structured result, `text` is what an assistant reads."""

    def __init__(
        self, message: str, *, code: str, text: str = "", line: int | None = None, **facts: Any
    ) -> None:
        super().__init__(message, code=code, line=line)
        self.text = text
        self.facts = facts


def request_for(
    context: RequestContext,
    tool: Tool,
    raw: str,
    *,
    title: str,
    mode: Mode = "contextual",
    level: str | None = None,
) -> Entry:
    """Put a request on the desk. Raises PolicyError where nobody can be asked who has to be."""
    asks = require_somebody(context, tool)
    return submit(context, tool, raw, title=title, asks=asks, mode=mode, level=level)


async def run(context: RequestContext, entry: Entry, *, wait_seconds: float) -> dict[str, Any]:
    """Take a request whose script was extracted through to its run; what `execute.run` gives.

    Raises what `execute.run` does, and Refused where the script is not valid, fails in rehearsal or is denied.
    """
    now = desk()
    if _looked_at(entry):
        await _in_background(context, entry, wait_seconds)
        if entry.state == "extracted":
            entry = await check(entry)
    else:
        entry = now.validated(entry.id, {})
    while True:
        if entry.asks != "nobody":
            entry = await _agreed(context, entry)
        elif _looked_at(entry):
            entry = await _rehearsed(context, entry)
        try:
            result = await _on_main_thread(
                partial(_run_live, entry.id, context.cancelled.is_set), context, changes=True
            )
        except SceneChanged:
            entry = now.get(entry.id)
            continue
        return result if entry.asks == "nobody" else {**result, "request_id": entry.id}


def _looked_at(entry: Entry) -> bool:
    """Whether it is checked and rehearsed before it runs: what somebody is asked about, else where settings say so."""
    return entry.asks != "nobody" or settings.current().rehearse == "always"


async def dry_run(
    context: RequestContext, script: str, title: str, level: str | None = None
) -> dict[str, Any]:
    """What `execute.run` says of a script without running it; nobody has to be asked for that."""
    check_only = partial(
        execute.run,
        script,
        request_id=new_id(),
        title=title,
        requester=context.client.name,
        client_id=context.client.id,
        level=level,
        dry_run=True,
    )
    return await _on_main_thread(check_only, context)


# --- extract and validate -------------------------------------------------------------------------------------


async def check(entry: Entry) -> Entry:
    """Validate the script of a request. Raises Refused with the errors and their lines."""
    chosen = execute.check(entry.script, entry.request.level)
    if chosen == "arithmetic":
        return desk().validated(entry.id, {})
    index = await asyncio.wrap_future(main_thread.run(rna.current, changes=False, label="validation"))
    found = await asyncio.to_thread(validate, entry.script, index, policy(chosen))
    if not found.is_valid:
        message, first = "\n".join(map(str, found.errors)), found.errors[0]
        errors = [asdict(error) for error in found.errors]
        raise Refused(message, code=first.code, errors=errors, line=first.line)
    return desk().validated(entry.id, found.to_dict())


def script_of(entry: Entry, answer: str | Mapping[str, Any]) -> Entry:
    """Find the script in an answer, or take it as it is in the mode `contextual`. Raises NoScript."""
    if entry.request.mode == "contextual" and isinstance(answer, str):
        return desk().extracted(entry.id, answer)
    return desk().extracted(entry.id, extract(answer).script)


# --- rehearse and ask -----------------------------------------------------------------------------------------


async def _agreed(context: RequestContext, entry: Entry) -> Entry:
    """The request, once the user has said yes to what was rehearsed. Raises Refused for a no."""
    if entry.state == "waiting" and entry.revision != await _on_main_thread(events.settled, context):
        entry = desk().outdated(entry.id)
    if entry.state == "validated":
        entry = await _rehearsed(context, entry)
    if entry.state == "waiting":
        await context.progress(2, 3, "Waiting for the user's yes")
        # The key has the revision: an answer of before the scene changed is no answer now.
        entry = await answer(context, entry, _question(entry), key=f"apply-{entry.revision}")
    if entry.state != "confirmed":
        raise Refused(why_not(entry), code=entry.state)
    return entry


async def _rehearsed(context: RequestContext, entry: Entry) -> Entry:
    """Rehearse, and put the question on the desk where there is one."""
    now, obligatory = desk(), entry.request.tool == "inject_bpy_script" or entry.asks == "nobody"
    if not obligatory and settings.current().rehearse == "never":
        revision = await _on_main_thread(events.settled, context)
        return now.ask(
            entry.id, revision=revision, unrehearsed="This was not rehearsed: the settings say so."
        )
    try:
        revision, prepared = await _on_main_thread(_prepare, context)
        await context.progress(1, 3, "Copied the scene; rehearsing the script on the copy")
        done = await asyncio.to_thread(
            partial(
                rehearse.rehearse,
                prepared,
                entry.script,
                title=entry.title,
                level=entry.request.level,
                pictures=entry.asks == "panel",
                cancelled=context.cancelled.is_set,
            )
        )
    except ExternalServiceError as error:
        if obligatory:
            now.reject(entry.id, f"it cannot be rehearsed: {error}")
            raise Refused(
                f"the script cannot be rehearsed, so it may not run in the open scene: {error}",
                code="rehearsal",
            ) from error
        revision = await _on_main_thread(events.settled, context)
        return now.ask(entry.id, revision=revision, unrehearsed=f"This was not rehearsed: {error}")
    report = done.report
    if report["outcome"] != "success":
        now.failed(entry.id, report["message"])
        found = report.get("error", {})
        facts = {
            "error": found.get("type", "LimitExceeded"),
            "cause": found.get("cause"),
            "line": found.get("line"),
        }
        told = {name: value for name, value in facts.items() if value is not None}
        raise Refused(report["message"], code="rehearsal", text=as_text(report), **told)
    for when, picture in done.pictures.items():
        _keep_picture(entry.id, when, picture)
    entry = now.rehearsed(entry.id, dict(report), as_text(report), revision)
    return entry if entry.asks == "nobody" else now.ask(entry.id, revision=revision)


def _keep_picture(request_id: str, when: str, picture: bytes) -> None:
    kept = review.store()
    if kept is not None:
        kept.picture(request_id, when, picture)


def _question(entry: Entry) -> str:
    script = entry.script
    if len(script) > _LONGEST_SCRIPT_SHOWN:
        script = f"{script[:_LONGEST_SCRIPT_SHOWN]}\n… ({len(script):,} characters in all)"
    return (
        f"{entry.request.requester} wants to run “{entry.title}” in the open scene.\n\n"
        f"{entry.summary}\n\nThe script:\n{script}"
    )


async def _in_background(context: RequestContext, entry: Entry, wait_seconds: float) -> None:
    """Answer `pending` after a while. A client that is itself asked must not be answered before it has asked."""
    if entry.asks == "panel" or tasks.declared(context.client_capabilities):
        await context.background(
            "request",
            entry.title,
            job_id=entry.id,
            wait_seconds=wait_seconds,
            request_id=entry.id,
            message=PENDING.format(id=entry.id),
        )


def pending(entry: Entry) -> dict[str, Any]:
    """The answer to a call that repeats one that is under way."""
    message = PENDING.format(id=entry.id)
    return {"status": "pending", "request_id": entry.id, "job_id": entry.id, "message": message}


# --- on Blender's main thread ---------------------------------------------------------------------------------


async def _on_main_thread(do: Callable[[], T], context: RequestContext, *, changes: bool = False) -> T:
    work = main_thread.run(do, changes=changes, cancelled=context.cancelled, label="the request")
    return await asyncio.wrap_future(work)


def _prepare() -> tuple[int, rehearse.Prepared]:
    events.settled()
    prepared = rehearse.prepare()
    return events.revision(), prepared


def _run_live(request_id: str, cancelled: Callable[[], bool]) -> dict[str, Any]:
    """The one run of a request; whatever becomes of it is on the desk, also when nobody waits for it any more."""
    now = desk()
    if now.get(request_id).asks == "nobody":
        revision = events.settled() if now.get(request_id).revision is not None else events.revision()
        now.permit(request_id, revision=revision)
    else:
        revision = events.settled()
    entry = now.take(request_id, revision=revision)
    try:
        result = execute.run(
            entry.script,
            request_id=entry.id,
            title=entry.title,
            requester=entry.request.requester,
            client_id=entry.request.client_id,
            level=entry.request.level,
            cancelled=cancelled,
        )
    except BridgeError as error:
        now.failed(request_id, str(error))
        raise
    now.applied(request_id, result, revision=events.settled(quick=entry.asks == "nobody"))
    return result
