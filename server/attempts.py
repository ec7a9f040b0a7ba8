# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal's records of calls that were to run a script, and of rehearsals: whichever way they came in."""

from __future__ import annotations

from ..base.errors import BridgeError
from ..sandbox.rehearsal.report import Report, as_result
from ..sandbox.run.record import Record, refuse
from .protocol.context import Principal, RequestContext
from .protocol.features import Tool
from .protocol.messages.content import Json

__all__ = ("refused", "rehearsed")

#: The parameters that hold a script.
_SCRIPTS = ("code", "script")


def refused(tool: Tool, client: Principal, arguments: Json, error: BridgeError) -> None:
    """Record a call that was refused, of a tool that runs scripts; what the run itself has recorded is left alone."""
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
    """Record that a client had a script rehearsed, with the report but for what the script gave and printed."""
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
