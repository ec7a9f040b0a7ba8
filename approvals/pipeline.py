# SPDX-License-Identifier: GPL-3.0-or-later
"""Drive a request through its steps, on the caller's event loop: check, rehearse, ask, run.

`approval_queue` checks the order of the steps and that an approval counts once. Only the preparation of a rehearsal and
the run itself use Blender's main thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from .. import approvals
from ..base import main_thread, settings
from ..base.errors import (
    Breakout,
    BridgeError,
    ExternalServiceError,
    LimitExceeded,
    NeedsRehearsal,
    PolicyError,
)
from ..sandbox.facts.policy import policy
from ..sandbox.guard.measured import Measured
from ..sandbox.language.compile import Finding, ScriptRefused
from ..sandbox.reference import rna
from ..sandbox.rehearsal import rehearse
from ..sandbox.rehearsal.report import as_result, as_text
from ..sandbox.run import execute
from ..sandbox.run.validate import ValidationResult, validate
from ..scene import events
from .approval_queue import SceneChanged, new_id
from .caller import Caller
from .consent import PENDING, answer, queue, require_somebody, submit, why_not, working_on
from .extract import extract
from .request import Entry, Mode, Tool

__all__ = (
    "Refused",
    "check",
    "dry_run",
    "pending",
    "queue",
    "request_for",
    "run",
    "script_of",
    "validation",
    "working_on",
)

T = TypeVar("T")

_LONGEST_SCRIPT_SHOWN = 20_000
#: How many operators, modules and warnings a question names.
_MOST_NAMES = 12


class Refused(PolicyError):
    """The script stops here. `facts` are added to the structured result; `text` is the text for an assistant."""

    def __init__(
        self, message: str, *, code: str, text: str = "", line: int | None = None, **facts: Any
    ) -> None:
        super().__init__(message, code=code, line=line)
        self.text = text
        self.facts = facts


def request_for(
    context: Caller,
    tool: Tool,
    raw: str,
    *,
    title: str,
    mode: Mode = "contextual",
    level: str | None = None,
) -> Entry:
    """Add a request to the queue. Raises PolicyError if somebody must be asked and nobody can be."""
    asks = require_somebody(context, tool)
    return submit(context, tool, raw, title=title, asks=asks, mode=mode, level=level)


async def run(context: Caller, entry: Entry, *, wait_seconds: float) -> dict[str, Any]:
    """Take a request with a script through all steps to its run; returns the result of `execute.run`.

    Raises the errors of `execute.run`, ScriptRefused for an invalid script, and Refused if the rehearsal fails or the
    user denies the request.
    """
    now = queue()
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
        except NeedsRehearsal:
            entry = now.get(entry.id)
            if entry.ended:
                raise
            continue
        if entry.asks == "nobody":
            return result
        if entry.former is not None:
            result["warnings"] = [*result.get("warnings", ()), _again(entry)]
        return {**result, "request_id": entry.id}


def _looked_at(entry: Entry) -> bool:
    """Whether a request is checked and rehearsed before it runs.

    True if somebody is asked about it, if its estimate is above the limit, or if the settings require it for all.
    """
    return entry.asks != "nobody" or bool(entry.closer) or settings.current().rehearse == "always"


async def dry_run(context: Caller, script: str, title: str, level: str | None = None) -> dict[str, Any]:
    """The result of `execute.run` for a script without running it; this needs no approval.

    Raises the errors of `execute.run`, such as ScriptRefused with all mistakes of the script.
    """
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
    """Validate the script of a request. Raises ScriptRefused with the errors and their lines."""
    found = await validation(entry.script, entry.request.level)
    if found is None:
        return queue().validated(entry.id, {})
    entry = queue().validated(entry.id, found.to_dict())
    if not found.is_valid:
        raise ScriptRefused(found.errors)
    return entry


async def validation(script: str, level: str | None = None) -> ValidationResult | None:
    """The validation of a script; None if the script is only arithmetic. Raises as `execute.check`."""
    chosen = execute.check(script, level)
    if chosen == "arithmetic":
        return None
    index = await asyncio.wrap_future(main_thread.run(rna.current, changes=False, label="validation"))
    return await asyncio.to_thread(validate, script, index, policy(chosen))


def script_of(entry: Entry, answer: str | Mapping[str, Any]) -> Entry:
    """Store the script of an answer; in the mode `contextual` the answer itself is the script. Raises NoScript."""
    if entry.request.mode == "contextual" and isinstance(answer, str):
        return queue().extracted(entry.id, answer)
    return queue().extracted(entry.id, extract(answer).script)


# --- rehearse and ask -----------------------------------------------------------------------------------------


async def _agreed(context: Caller, entry: Entry) -> Entry:
    """Return the request when the user has approved the rehearsed script. Raises Refused for a no.

    If the scene changes before that, this rehearses the script again.
    """
    while entry.state in ("validated", "waiting"):
        if entry.state == "waiting" and entry.revision != await _on_main_thread(events.settled, context):
            entry = queue().outdated(entry.id)
        if entry.state == "validated":
            entry = await _rehearsed(context, entry)
        if entry.state == "waiting":
            await context.progress(2, 3, "Waiting for the user's yes")
            # The key has the revision, so that an answer from before a change of the scene does not count.
            entry = await answer(context, entry, _question(entry), key=f"apply-{entry.revision}")
    if entry.state != "confirmed":
        raise Refused(why_not(entry), code=entry.state)
    return entry


async def _rehearsed(context: Caller, entry: Entry) -> Entry:
    """Rehearse the script, and put the question to the user if one is needed."""
    now = queue()
    obligatory = entry.request.tool == "inject_bpy_script" or entry.asks == "nobody" or bool(entry.closer)
    if not obligatory and settings.current().rehearse == "never":
        revision = await _on_main_thread(events.settled, context)
        return now.ask(entry.id, revision=revision, unrehearsed=_unrehearsed(entry, "the settings say so."))
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
            if entry.closer:
                raise LimitExceeded(
                    f"{entry.closer}. It cannot be rehearsed: {error}", limit="geometry"
                ) from error
            raise Refused(
                f"the script cannot be rehearsed, so it may not run in the open scene: {error}",
                code="rehearsal",
            ) from error
        revision = await _on_main_thread(events.settled, context)
        return now.ask(entry.id, revision=revision, unrehearsed=_unrehearsed(entry, str(error)))
    if now.get(entry.id).state == "denied":  # during this rehearsal
        return now.get(entry.id)
    report = done.report
    if report["outcome"] != "success":
        now.failed_in_rehearsal(entry.id, dict(report))
        found = as_result(report)
        told = {name: found[name] for name in ("error", "cause", "line") if name in found}
        why = f"{entry.closer}. " if entry.closer else ""
        if entry.closer and told.get("error") == ExternalServiceError.__name__:
            # The confined Blender died while the script made as much as estimated: the estimate was right.
            told |= {"error": LimitExceeded.__name__, "cause": LimitExceeded.__name__}
        raise Refused(why + report["message"], code="rehearsal", text=why + as_text(report), **told)
    for when, picture in done.pictures.items():
        _keep_picture(entry.id, when, picture)
    again = ""
    if entry.former is not None:
        record = replace(entry.record, sandbox_result=report)
        again = _again(replace(entry, record=record)) + "\n\n"
    entry = now.rehearsed(entry.id, dict(report), again + as_text(report), revision)
    if entry.asks == "nobody":
        return entry
    if entry.former is not None and await _on_main_thread(partial(_still_stands, entry), context):
        return now.uphold(entry.id)
    return now.ask(entry.id, revision=revision)


def _still_stands(entry: Entry) -> bool:
    """Whether an approval from before a change of the scene is still valid.

    The rehearsal must have the same result, and the changed data-blocks must be known and not used by the script.
    """
    former, found = entry.former, entry.record.sandbox_result
    if former is None or not former.by or found is None or not former.is_same(entry.sha256, found):
        return False
    changed, difference = events.changed_since(former.revision), found["difference"]
    if difference["left_out"]:
        return False
    touched = {block["name"] for kind in ("added", "removed", "changed") for block in difference[kind]}
    return changed is not None and not changed & touched


def _again(entry: Entry) -> str:
    """A text that says that the script was rehearsed again, and with which result."""
    former = entry.former
    if former is not None and former.is_same(entry.sha256, entry.record.sandbox_result):
        return "The scene changed: rehearsed again, the result is the same."
    return "The scene changed: rehearsed again, and the result is not the same as before."


def _keep_picture(request_id: str, when: str, picture: bytes) -> None:
    kept = approvals.store()
    if kept is not None:
        kept.picture(request_id, when, picture)


def _unrehearsed(entry: Entry, why: str) -> str:
    """A text for the user about a script without a rehearsal: what will happen, and what its source shows."""
    found = entry.validation or {}
    lines = [
        f"This was not rehearsed: {why}",
        "",
        "If you agree, it runs in the open scene at once, as one undo step and for at most "
        f"{settings.current().time_limit(rehearsed=False):g} s. If it fails or takes longer, everything is as before. "
        "What it changes is not known beforehand.",
    ]
    operators = [f"bpy.ops.{name}" for name in found.get("operator_list", ())]
    for what, names in (("It calls", operators), ("It imports", list(found.get("imports", ())))):
        if names:
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            lines.append(f"{what} {', '.join(names[:_MOST_NAMES])}{more}.")
    warnings = [Finding(**warning) for warning in found.get("warnings", ())[:_MOST_NAMES]]
    return "\n".join(
        [*lines, *(["", "Take note:"] if warnings else []), *(f"  ! {each}" for each in warnings)]
    )


def _question(entry: Entry) -> str:
    script = entry.script
    if len(script) > _LONGEST_SCRIPT_SHOWN:
        script = f"{script[:_LONGEST_SCRIPT_SHOWN]}\n… ({len(script):,} characters in all)"
    return (
        f"{entry.request.requester} wants to run “{entry.title}” in the open scene.\n\n"
        f"{entry.summary}\n\nThe script:\n{script}"
    )


async def _in_background(context: Caller, entry: Entry, wait_seconds: float) -> None:
    """Make the call a job, so that the client gets `pending` after a while. Not if the client itself asks the user: it
    must show the question before it gets an answer.
    """
    if entry.asks == "panel" or context.takes_tasks:
        await context.background(
            "request",
            entry.title,
            job_id=entry.id,
            wait_seconds=wait_seconds,
            request_id=entry.id,
            message=PENDING.format(id=entry.id),
        )


def pending(entry: Entry) -> dict[str, Any]:
    """The answer to a call that repeats a running one."""
    message = PENDING.format(id=entry.id)
    return {"status": "pending", "request_id": entry.id, "job_id": entry.id, "message": message}


# --- on Blender's main thread ---------------------------------------------------------------------------------


async def _on_main_thread(do: Callable[[], T], context: Caller, *, changes: bool = False) -> T:
    work = main_thread.run(do, changes=changes, cancelled=context.cancelled, label="the request")
    return await asyncio.wrap_future(work)


def _prepare() -> tuple[int, rehearse.Prepared]:
    events.settled()
    prepared = rehearse.prepare()
    return events.revision(), prepared


def _run_live(request_id: str, cancelled: Callable[[], bool]) -> dict[str, Any]:
    """Run a request, once. The queue gets the outcome even if no caller waits for it."""
    now = queue()
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
            rehearsed=entry.record.sandbox_result is not None,
            growth=Measured.of(entry.record.sandbox_result),
        )
    except NeedsRehearsal as error:
        if entry.record.sandbox_result is None:
            now.postponed(request_id, str(error))
        else:
            now.failed(request_id, str(error))
        raise
    except BridgeError as error:
        now.failed(request_id, str(error), broke_out=isinstance(error, Breakout))
        raise
    now.applied(request_id, result, revision=events.settled(quick=entry.asks == "nobody"))
    return result
