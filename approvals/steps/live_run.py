# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the script of a request in the open scene, once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...base.errors import Breakout, BridgeError, NeedsRehearsal
from ...sandbox.guard.measured import Measured
from ...sandbox.run import execute
from ...scene import events
from .. import queue
from ..caller import Caller, on_main_thread

__all__ = ("run_live",)


async def run_live(context: Caller, request_id: str) -> dict[str, Any]:
    """Run a request; returns the result of `execute.run`.

    Raises its errors, and SceneChanged if the scene is not the one that the user agreed to.
    """
    return await on_main_thread(context, partial(_run, request_id, context.cancelled.is_set), changes=True)


def _run(request_id: str, cancelled: Callable[[], bool]) -> dict[str, Any]:
    """On the main thread: run a request. The queue gets the outcome even if no caller waits for it."""
    requests = queue()
    if requests.get(request_id).asks == "nobody":
        revision = events.settled() if requests.get(request_id).revision is not None else events.revision()
        requests.permit(request_id, revision=revision)
    else:
        revision = events.settled()
    entry = requests.take(request_id, revision=revision)
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
            requests.postpone(request_id, str(error))
        else:
            requests.fail(request_id, str(error))
        raise
    except BridgeError as error:
        requests.fail(request_id, str(error), broke_out=isinstance(error, Breakout))
        raise
    requests.store_result(request_id, result, revision=events.settled(quick=entry.asks == "nobody"))
    return result
