# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that run an assistant's Python, or tell the assistant what it may write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Literal, NotRequired, TypedDict

from ... import approvals
from ...approvals import pipeline, submit
from ...base import settings
from ...base.settings import Level
from ...sandbox.facts.policy import policy
from ...sandbox.language import arithmetic
from ...sandbox.reference import rna
from ...sandbox.run import gates
from ..protocol.context import WAIT_SECONDS, RequestContext
from ..protocol.messages.content import ToolResult
from .registry import tool

RunsScripts = Callable[..., Awaitable[ToolResult]]


class CodeResult(TypedDict):
    """Every form that the result of running code takes."""

    status: Literal["success", "pending", "error"]
    result: NotRequired[Any]
    stdout: NotRequired[str]
    dry_run: NotRequired[bool]
    request_id: NotRequired[str]
    job_id: NotRequired[str]
    message: NotRequired[str]
    error: NotRequired[str]
    cause: NotRequired[str]
    line: NotRequired[int | None]
    #: The findings of validation, each with line, column and what to do.
    errors: NotRequired[list[dict[str, Any]]]
    #: How many more texts the assistant may send with this request_id.
    attempts_left: NotRequired[int]
    warnings: NotRequired[list[str]]
    #: How long the rehearsal before the run took, its copy included.
    rehearsal_seconds: NotRequired[float]


def runs_scripts(function: RunsScripts) -> RunsScripts:
    """Mark a tool that runs scripts, in the open scene or in a rehearsal. While no script may run, it does nothing.

    The journal has each of its refused calls.
    """

    @wraps(function)
    async def gated(context: RequestContext, *arguments: Any, **named: Any) -> ToolResult:
        gates.check("")
        return await function(context, *arguments, **named)

    gated.__runs_scripts__ = True  # type: ignore[attr-defined]
    return gated


@tool(title="Execute Blender Code", destructive=True, output=CodeResult)
@runs_scripts
async def execute_blender_code(
    context: RequestContext, code: str, title: str = "", level: Level | None = None
) -> ToolResult:
    """Run Python in the open scene, sandboxed, as one undo step; a failure rolls everything back. `bpy`, `bmesh`,
    `mathutils`, `math`, `random`, `numpy` can be imported; files, network, processes cannot. Assign what you want
    back to `result`; print goes to `stdout`. The user may be asked first.

    title: a few words for the user, who sees them when asked and in the undo history.
    level: to ask for less than is allowed: math (no bpy) or arithmetic.
    """
    script = gates.text_of("code", code)
    if settings.current().dry_run:
        return ToolResult(structured=await pipeline.dry_run(context, script, title, level))
    entry = submit.request_for(context, "execute_blender_code", script, title=title, level=level)
    with submit.working_on(entry) as mine:
        if not mine:
            return ToolResult(structured=submit.pending(entry))
        if entry.state == "received":
            entry = approvals.queue().store_script(entry.id, script)
        return ToolResult(structured=await pipeline.run(context, entry, wait_seconds=WAIT_SECONDS))


class Calculated(TypedDict):
    """The values of a calculation's variables, or the reason why there are none."""

    status: Literal["success", "error"]
    result: NotRequired[dict[str, Any]]
    message: NotRequired[str]
    error: NotRequired[str]
    cause: NotRequired[str]
    line: NotRequired[int | None]


@tool(title="Calculate", read_only=True, output=Calculated)
async def calculate(context: RequestContext, code: str) -> ToolResult:
    """Arithmetic: assignments with + - * / // % ** and numbers, nothing else. Gives the variables' values.

    code: such as `r = 2.5` and `area = 3.14159 * r ** 2`, one on a line.
    """
    result = arithmetic.calculate(gates.text_of("code", code))
    return ToolResult(structured={"status": "success", "result": result})


@tool(title="Inspect Tool", read_only=True, output=dict)
def inspect_tool(context: RequestContext, tool_name: str) -> ToolResult:
    """What this Blender knows of an operator, a type or a member of bpy: description, parameters with types, defaults,
    ranges, enum items, and whether scripts may use it.

    tool_name: such as bpy.ops.mesh.primitive_cube_add, bpy.types.Object or bpy.types.Object.location.
    """
    found = rna.inspect(tool_name, rna.current(), policy(settings.current().level))
    return ToolResult(structured=found)
