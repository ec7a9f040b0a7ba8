# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that a tool makes through a script of ours: rehearsed, asked about, run and rolled back like any other.

What the assistant gave is data in the script, never a part of its text.
"""

from __future__ import annotations

import pprint
from typing import Any

from ... import settings
from ...errors import BridgeError
from .. import reviewing
from ..mcp.content import ToolResult
from ..mcp.context import WAIT_SECONDS, RequestContext
from .code import failure

__all__ = ("run", "with_data")


def with_data(source: str, name: str, data: Any, function: str) -> str:
    """The script that calls `function` of `source` with `data`, which stands first: it is what the user reads.

    `data` is JSON; what is no plain JSON value is refused with a TypeError.
    """
    _check_plain(data)
    written = pprint.pformat(data, width=110, compact=True, sort_dicts=False)
    return f"{name} = {written}\n\n{source}\n\nresult = {function}({name})\n"


def _check_plain(data: Any) -> None:
    if isinstance(data, dict):
        for key, value in data.items():
            _check_plain(key)
            _check_plain(value)
    elif isinstance(data, list):
        for value in data:
            _check_plain(value)
    elif type(data) not in (str, int, float, bool, type(None)):
        raise TypeError(f"{data!r} is no JSON")


async def run(context: RequestContext, script: str, title: str) -> ToolResult:
    """Run a script as `execute_blender_code` does: the same gates, the same yes."""
    try:
        if settings.current().dry_run:
            return ToolResult(structured=await reviewing.dry_run(context, script, title))
        entry = reviewing.request_for(context, "execute_blender_code", script, title=title)
        with reviewing.working_on(entry) as mine:
            if not mine:
                return ToolResult(structured=reviewing.pending(entry))
            if entry.state == "received":
                entry = reviewing.script_of(entry, script)
            return ToolResult(structured=await reviewing.run(context, entry, wait_seconds=WAIT_SECONDS))
    except BridgeError as error:
        return failure(error)
