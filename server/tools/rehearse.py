# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool that tries a script on a copy of the scene."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Literal, NotRequired, TypedDict

from ...approvals import pipeline
from ...base import main_thread, settings
from ...base.settings import Level
from ...sandbox.rehearsal import prepare, rehearse
from ...sandbox.rehearsal.report import Confinement, as_result, as_text
from ...sandbox.run import gates
from .. import call_records
from ..protocol.context import RequestContext
from ..protocol.messages import content
from ..protocol.messages.content import ToolResult
from .code import runs_scripts
from .registry import tool


class RehearsalResult(TypedDict):
    """The report of a rehearsal, or why there is none (yet)."""

    status: Literal["success", "error", "pending"]
    outcome: NotRequired[Literal["success", "error", "rejected"]]
    message: NotRequired[str]
    job_id: NotRequired[str]
    dry_run: NotRequired[bool]
    #: The findings of validation in a dry run, each with line, column and what to do.
    errors: NotRequired[list[dict[str, Any]]]
    error: NotRequired[str]
    cause: NotRequired[str]
    line: NotRequired[int | None]
    result: NotRequired[Any]
    stdout: NotRequired[str]
    warnings: NotRequired[list[str]]
    seconds: NotRequired[dict[str, float]]
    peak_memory_mb: NotRequired[float]
    difference: NotRequired[dict[str, Any]]
    #: Each estimate above the limit: its subject -> its `estimate`, and how much the script `made`.
    growth: NotRequired[dict[str, dict[str, float]]]
    #: The script's lines that never ran.
    unreached: NotRequired[list[int]]
    #: The subjects of the pictures in the result, in their order: before, after.
    pictures: NotRequired[list[str]]
    confinement: NotRequired[Confinement]


@tool(title="Rehearse Script", read_only=True, output=RehearsalResult)
@runs_scripts
async def rehearse_script(
    context: RequestContext, code: str, title: str = "", level: Level | None = None
) -> ToolResult:
    """Run Python on a copy of the open scene, in a confined Blender, and report what it would change: data-blocks
    added, removed and changed, output, errors, time and memory, pictures before and after. The scene stays as it is.

    title: a few words on what the script does.
    level: to ask for less than is allowed: math (no bpy) or arithmetic.
    """
    script = gates.text_of("code", code)
    if settings.current().dry_run:
        return ToolResult(structured=await pipeline.dry_run(context, script, title, level))
    gates.check(script, level)
    await context.background("rehearsal", title or "Rehearsal")
    cancelled = context.cancelled
    prepared = await asyncio.wrap_future(
        main_thread.run(prepare.prepare, changes=False, cancelled=cancelled, label="rehearse_script")
    )
    await context.progress(1, 2, "Copied the scene; running the script on the copy")
    rehearsed = await asyncio.to_thread(
        partial(rehearse.rehearse, prepared, script, title=title, level=level, cancelled=cancelled.is_set)
    )
    report = rehearsed.report
    call_records.rehearsed(context, script, title, report)
    blocks = [content.text(as_text(report))]
    for when, picture in rehearsed.pictures.items():
        blocks += [content.text(f"{when.title()}:"), content.image(picture)]
    structured = {**as_result(report), "pictures": list(rehearsed.pictures)}
    meta = {content.FOR_PROGRAMS: True}
    return ToolResult(blocks, structured, is_error=structured["status"] == "error", meta=meta)
