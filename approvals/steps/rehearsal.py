# SPDX-License-Identifier: GPL-3.0-or-later
"""Rehearse the script of a request on a copy of the scene, and put the question to the user if one is needed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from ... import approvals
from ...base import settings
from ...base.errors import ExternalServiceError, LimitExceeded
from ...sandbox import confinement
from ...sandbox.confinement.supervisor import Unconfined
from ...sandbox.language.compile import Finding
from ...sandbox.rehearsal import prepare, rehearse
from ...sandbox.rehearsal.report import Report, as_result, as_text
from ...scene import events
from ..caller import Caller, on_main_thread
from ..request import Entry, Refused

__all__ = ("rehearse_and_ask", "rehearses_unasked")

#: How many operators, modules and warnings a question names.
_MOST_NAMES = 12
_ALWAYS = (
    " (The setting Rehearse First is Always; with When You Are Asked you would be asked without a rehearsal.)"
)


def rehearses_unasked(level: str | None) -> bool:
    """Return whether a script of a request for this level is rehearsed, though nobody is asked. Never waits.

    Arithmetic is calculated without Python and without Blender, so `possible` has nothing to rehearse in it.
    """
    now = settings.current()
    if now.rehearse == "possible":
        return (level or now.level) != "arithmetic" and not confinement.current().unconfined()
    return now.rehearse == "always"


async def rehearse_and_ask(context: Caller, entry: Entry) -> Entry:
    """Rehearse the script, and put the question to the user if one is needed.

    If nothing confines a rehearsal, a script that nobody is asked about, and that need not have one, can run.
    """
    requests = approvals.queue()
    which = settings.current().rehearse
    obligatory = _is_obligatory(entry) or which == "always"
    if not obligatory and which == "never":
        return await _ask_unrehearsed(context, entry, "the settings say so.")
    try:
        revision, prepared = await on_main_thread(context, _prepare)
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
        if entry.asks == "nobody" and not obligatory and isinstance(error, Unconfined):
            return entry
        if obligatory or entry.asks == "nobody":
            raise _reject(entry, f"{error}{_ALWAYS}" if which == "always" else str(error), error) from error
        return await _ask_unrehearsed(context, entry, str(error))
    if requests.get(entry.id).state == "denied":  # during this rehearsal
        return requests.get(entry.id)
    if done.report["outcome"] != "success":
        raise _fail(entry, done.report)
    for when, picture in done.pictures.items():
        _keep_picture(entry.id, when, picture)
    again = ""
    if entry.former is not None:
        record = replace(entry.record, sandbox_result=done.report)
        again = replace(entry, record=record).rehearsed_again + "\n\n"
    entry = requests.store_rehearsal(entry.id, dict(done.report), again + as_text(done.report), revision)
    if entry.asks == "nobody":
        return entry
    if entry.former is not None and await on_main_thread(context, partial(_still_stands, entry)):
        return requests.uphold(entry.id)
    return requests.ask(entry.id, revision=revision)


async def _ask_unrehearsed(context: Caller, entry: Entry, why: str) -> Entry:
    """Put the question to the user without a rehearsal; the user reads why there was none."""
    revision = await on_main_thread(context, events.settled)
    return approvals.queue().ask(entry.id, revision=revision, unrehearsed=_unrehearsed(entry, why))


def _reject(entry: Entry, why: str, error: ExternalServiceError) -> Refused | LimitExceeded:
    """End a request that has to be rehearsed and cannot be; returns the error for the assistant."""
    approvals.queue().reject(entry.id, f"it cannot be rehearsed: {why}")
    if entry.closer:
        return LimitExceeded(f"{entry.closer}. It cannot be rehearsed: {error}", limit="geometry")
    return Refused(
        f"the script cannot be rehearsed, so it may not run in the open scene: {why}", code="rehearsal"
    )


def _fail(entry: Entry, report: Report) -> Refused:
    """End a request whose rehearsal failed; returns the error for the assistant."""
    approvals.queue().store_failed_rehearsal(entry.id, dict(report))
    found = as_result(report)
    told = {name: found[name] for name in ("error", "cause", "line") if name in found}
    why = f"{entry.closer}. " if entry.closer else ""
    if entry.closer and told.get("error") == ExternalServiceError.__name__:
        # The confined Blender died while the script made as much as estimated: the estimate was right.
        told |= {"error": LimitExceeded.__name__, "cause": LimitExceeded.__name__}
    return Refused(why + report["message"], code="rehearsal", text=why + as_text(report), **told)


def _is_obligatory(entry: Entry) -> bool:
    """Return whether the script may not run without a rehearsal, whatever the settings say."""
    return entry.request.tool == "inject_bpy_script" or bool(entry.closer)


def _prepare() -> tuple[int, prepare.Prepared]:
    events.settled()
    prepared = prepare.prepare()
    return events.revision(), prepared


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
