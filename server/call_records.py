# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes journal records of tool calls, refused script calls and rehearsals, for every way that a call can come in."""

from __future__ import annotations

from typing import Any

from ..base import journal, settings
from ..base.errors import BridgeError
from ..base.telemetry.redaction import LEFT_OUT, is_secret_name, without_secrets
from ..sandbox.rehearsal.report import Report, as_result
from ..sandbox.run.record import Record, refuse
from .protocol.context import Principal, RequestContext
from .protocol.features import Tool
from .protocol.messages.content import Json

__all__ = ("called", "refused", "rehearsed")

#: Names of the parameters that hold a script.
_SCRIPTS = ("code", "script")
#: The most characters of a text, and items of a list or object, that a record has of an argument.
_LONGEST, _MOST = 500, 50


def called(tool: Tool, client: Principal, arguments: Json) -> None:
    """Record a call that is about to begin: on the disk when this returns. Raises JournalError if that fails.

    If `journal_code` is off, the record has the names of the arguments only.
    """
    given = _shortened(arguments) if settings.current().journal_code else sorted(arguments)
    journal.current().write(
        "tool_called", tool=tool.name, requester=client.name, client=client.id, arguments=given
    )


def _shortened(value: Any) -> Any:
    """Return JSON without secrets, and without the rest of long texts (an uploaded file's data), lists and objects."""
    match value:
        case str() if len(value) > _LONGEST:
            # Secrets first: what is left of one that is cut looks like none. The rest of the text is not looked at.
            begin = without_secrets(value[: 2 * _LONGEST])[:_LONGEST]
            return f"{begin}… ({len(value):,} characters)"
        case list():
            shown = [_shortened(item) for item in value[:_MOST]]
            return [*shown, f"… ({len(value):,} items)"] if len(value) > _MOST else shown
        case dict():
            kept = {
                key: LEFT_OUT if is_secret_name(key) else _shortened(item)
                for key, item in list(value.items())[:_MOST]
            }
            return {**kept, "…": f"({len(value):,} items)"} if len(value) > _MOST else kept
    return value


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
