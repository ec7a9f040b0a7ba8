# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool that tries a script where it can do no harm."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Literal, NotRequired, TypedDict

from ... import main_thread
from ...errors import BridgeError
from ...sandbox.rehearsal import rehearse
from ...sandbox.rehearsal.report import Confinement, as_text
from ...settings import Level
from ..mcp import content
from ..mcp.content import ToolResult
from ..mcp.context import RequestContext
from .code import failure
from .registry import tool


class RehearsalResult(TypedDict):
    """The report, or why there is none (yet)."""

    status: Literal["success", "error", "pending"]
    outcome: NotRequired[Literal["success", "error", "rejected"]]
    message: NotRequired[str]
    job_id: NotRequired[str]
    error: NotRequired[Any]
    line: NotRequired[int | None]
    result: NotRequired[Any]
    stdout: NotRequired[str]
    warnings: NotRequired[list[str]]
    seconds: NotRequired[dict[str, float]]
    peak_memory_mb: NotRequired[float]
    difference: NotRequired[dict[str, Any]]
    confinement: NotRequired[Confinement]


@tool(title="Rehearse Script", read_only=True, output=RehearsalResult)
async def rehearse_script(
    context: RequestContext, code: str, title: str = "", level: Level | None = None
) -> ToolResult:
    """Run Python on a copy of the open scene, in a confined Blender, and report what it would change: data-blocks
    added, removed and changed, output, errors, time and memory, pictures before and after. The scene stays as it is.

    title: a few words on what the script does.
    level: ask for less than allowed: math (no bpy) or arithmetic.
    """
    await context.background("rehearsal", title or "Rehearsal")
    cancelled = context.cancelled
    try:
        prepared = await asyncio.wrap_future(
            main_thread.run(rehearse.prepare, changes=False, cancelled=cancelled, label="rehearse_script")
        )
        await context.progress(1, 2, "Copied the scene; running the script on the copy")
        rehearsed = await asyncio.to_thread(
            partial(rehearse.rehearse, prepared, code, title=title, level=level, cancelled=cancelled.is_set)
        )
    except BridgeError as error:
        return failure(error)
    report = rehearsed.report
    succeeded = report["outcome"] == "success"
    blocks = [content.text(as_text(report))]
    for when, picture in rehearsed.pictures.items():
        blocks += [content.text(f"{when.title()}:"), content.image(picture)]
    structured = {"status": "success" if succeeded else "error", **report}
    return ToolResult(blocks, structured, is_error=not succeeded)
