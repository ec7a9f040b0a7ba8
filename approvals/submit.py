# SPDX-License-Identifier: GPL-3.0-or-later
"""Add a request to the approval queue, and claim it for the call that works on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base import main_thread
from ..base.errors import PolicyError
from . import queue
from .approval_queue import WAIT_LIMIT_S
from .caller import Caller
from .client_names import shown_name
from .request import Asks, Entry, InjectScriptRequest, Mode, Tool, new_id
from .whom_to_ask import require_somebody

__all__ = ("PENDING", "pending", "request_for", "submit", "working_on")

PENDING = (
    "Waiting for the user, who decides in Blender's MCP panel under Requests. Ask get_job with job_id {id!r} "
    "(and wait_seconds) for the outcome; cancel_job takes the request back."
)


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


def submit(
    context: Caller,
    tool: Tool,
    raw: str,
    *,
    title: str,
    asks: Asks,
    **more: Any,
) -> Entry:
    """Add a request to the queue, or return the same request if it is already there."""
    requests = queue()
    requests.expire("nobody answered in time", older_than_s=WAIT_LIMIT_S)
    client = context.client
    request = InjectScriptRequest(
        id=new_id(),
        requester=shown_name(client, context.client_info),
        mode=more.pop("mode", "contextual"),
        script_raw=raw,
        timestamp=time.time(),
        client_id=client.id,
        tool=tool,
        title=title[:200],
        **more,
    )
    return requests.submit(request, asks=asks)


@contextmanager
def working_on(entry: Entry) -> Iterator[bool]:
    """Claim the request inside this context; yields False if another call works on it.

    Cancelling the call cancels its request. A failing call ends its request, unless the client may still send a better
    text.
    """
    requests = queue()
    mine = requests.attach(entry.id)
    try:
        yield mine
    except (asyncio.CancelledError, main_thread.Cancelled):
        if mine:
            requests.cancel(entry.id)
        raise
    except Exception as error:
        found = requests.get(entry.id)
        if mine and not (found.ended or found.running or found.state == "received"):
            (requests.reject if isinstance(error, PolicyError) else requests.fail)(entry.id, str(error))
        raise
    finally:
        if mine:
            requests.detach(entry.id)


def pending(entry: Entry) -> dict[str, Any]:
    """The answer to a call that repeats a running one."""
    message = PENDING.format(id=entry.id)
    return {"status": "pending", "request_id": entry.id, "job_id": entry.id, "message": message}
