# SPDX-License-Identifier: GPL-3.0-or-later
"""Drive a request through its steps, on the caller's event loop: check, rehearse, ask, run.

`approval_queue` checks the order of the steps and that an approval counts once. Only the preparation of a rehearsal and
the run itself use Blender's main thread.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..base.errors import NeedsRehearsal
from ..sandbox.rehearsal import ahead
from ..sandbox.run import execute
from . import queue
from .caller import Caller, on_main_thread
from .request import Entry, SceneChanged, new_id
from .steps.agreement import get_approval
from .steps.check import check, compile_early
from .steps.live_run import run_live
from .steps.rehearsal import rehearse_and_ask, rehearses_unasked
from .submit import PENDING

__all__ = ("dry_run", "run")


async def run(context: Caller, entry: Entry, *, wait_seconds: float) -> dict[str, Any]:
    """Take a request with a script through all steps to its run; returns the result of `execute.run`.

    Raises the errors of `execute.run`, ScriptRefused for an invalid script, and Refused if the rehearsal fails or the
    user denies the request.
    """
    requests = queue()
    if _needs_check(entry):
        await _in_background(context, entry, wait_seconds)
        if entry.state == "extracted":
            entry = await check(entry)
    else:
        entry = requests.store_validation(entry.id, {})
        await compile_early(entry)
    while True:
        if entry.asks != "nobody":
            entry = await get_approval(context, entry)
        elif _needs_check(entry):
            entry = await rehearse_and_ask(context, entry)
        try:
            result = await run_live(context, entry.id)
        except SceneChanged:
            entry = requests.get(entry.id)
            continue
        except NeedsRehearsal:
            entry = requests.get(entry.id)
            if entry.ended:
                raise
            continue
        report = entry.record.sandbox_result
        if report is not None:
            ahead.after_run()
            result["rehearsal_seconds"] = report["seconds"]["total"]
        if entry.asks == "nobody":
            return result
        if entry.former is not None:
            result["warnings"] = [*result.get("warnings", ()), entry.rehearsed_again]
        return {**result, "request_id": entry.id}


def _needs_check(entry: Entry) -> bool:
    """Whether a request is checked and rehearsed before it runs.

    True if somebody is asked about it, if its estimate is above the limit, or if the settings want it for all.
    """
    return entry.asks != "nobody" or bool(entry.closer) or rehearses_unasked(entry.request.level)


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
    return await on_main_thread(context, check_only)


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
