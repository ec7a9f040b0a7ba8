# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes journal records of refused script calls and of rehearsals, for every way that a call can come in."""

from __future__ import annotations

from ..base.errors import BridgeError
from ..sandbox.rehearsal.report import Report, as_result
from ..sandbox.run.record import Record, refuse
from .protocol.context import Principal, RequestContext
from .protocol.features import Tool
from .protocol.messages.content import Json

__all__ = ("refused", "rehearsed")

#: Names of the parameters that hold a script.
_SCRIPTS = ("code", "script")


def refused(tool: Tool, client: Principal, arguments: Json, error: BridgeError) -> None:
    """Record a refused call of a tool that runs scripts, unless the run itself has already recorded it."""
    if not tool.runs_scripts:
        return
    title = arguments.get("title")
    refuse(
        error,
        script=next((arguments[name] for name in _SCRIPTS if name in arguments), None),
        tool=tool.name,
        requester=client.name,
        client_id=client.id,
        title=title if isinstance(title, str) else "",
        request_id=str(error.facts.get("request_id", "")),
    )


def rehearsed(context: RequestContext, script: str, title: str, report: Report) -> None:
    """Record a client's rehearsal of a script, with its report but without the script's result and printed text."""
    found = as_result(report)
    kept = {name: value for name, value in found.items() if name not in ("result", "stdout")}
    record = Record(
        script,
        tool="rehearse_script",
        requester=context.client.name,
        client_id=context.client.id,
        title=title,
    )
    record.note("execute_rehearsed", report=kept)
