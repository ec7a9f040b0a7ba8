# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that run an assistant's Python, or tell it what it may write."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from ... import settings
from ...errors import BridgeError, HandlerError
from ...sandbox import arithmetic, rna
from ...sandbox.policy import policy
from ...settings import Level
from .. import reviewing
from ..mcp import content
from ..mcp.content import ToolResult
from ..mcp.context import WAIT_SECONDS, RequestContext
from .registry import tool


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
    #: What validation found, each with line, column and what to do.
    errors: NotRequired[list[dict[str, Any]]]
    #: How many more texts may be sent with this request_id.
    attempts_left: NotRequired[int]
    warnings: NotRequired[list[str]]


def failure(error: BridgeError) -> ToolResult:
    """The result that tells an assistant why its code did not run, or where it failed."""
    facts: dict[str, Any] = {"status": "error", "error": type(error).__name__, "message": str(error)}
    if isinstance(error, HandlerError):
        facts["cause"] = type(error.original).__name__
    if getattr(error, "line", None) is not None:
        facts["line"] = error.line  # type: ignore[attr-defined]
    text = ""
    if isinstance(error, reviewing.Refused):
        facts |= error.facts
        text = error.text
    return ToolResult([content.text(text or _sentence(facts))], facts, is_error=True)


def _sentence(facts: dict[str, Any]) -> str:
    where = f" (line {facts['line']})" if "line" in facts else ""
    return f"{facts['error']}{where}: {facts['message']}"


@tool(title="Execute Blender Code", destructive=True, output=CodeResult)
async def execute_blender_code(
    context: RequestContext, code: str, title: str = "", level: Level | None = None
) -> ToolResult:
    """Run Python in the open scene, sandboxed, as one undo step; a failure rolls everything back. `bpy`, `bmesh`,
    `mathutils`, `math` and the like can be imported; files, network, processes cannot. Assign what you want
    back to `result`; print goes to `stdout`. The user may be asked first.

    title: a few words for the user, who sees them when asked and in the undo history.
    level: ask for less than allowed: math (no bpy) or arithmetic.
    """
    try:
        if settings.current().dry_run:
            return ToolResult(structured=await reviewing.dry_run(context, code, title, level))
        entry = reviewing.request_for(context, "execute_blender_code", code, title=title, level=level)
        with reviewing.working_on(entry) as mine:
            if not mine:
                return ToolResult(structured=reviewing.pending(entry))
            if entry.state == "received":
                entry = reviewing.script_of(entry, code)
            return ToolResult(structured=await reviewing.run(context, entry, wait_seconds=WAIT_SECONDS))
    except BridgeError as error:
        return failure(error)


class Calculated(TypedDict):
    """The values of a calculation's variables, or why there are none."""

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
    try:
        return ToolResult(structured={"status": "success", "result": arithmetic.calculate(code)})
    except BridgeError as error:
        return failure(error)


@tool(title="Inspect Tool", read_only=True, output=dict)
def inspect_tool(context: RequestContext, tool_name: str) -> ToolResult:
    """What this Blender knows of an operator, a type or a member: description, parameters with types, defaults,
    ranges, enum items, and whether scripts may use it.

    tool_name: such as bpy.ops.mesh.primitive_cube_add, bpy.types.Object or bpy.types.Object.location.
    """
    found = rna.inspect(tool_name, rna.current(), policy(settings.current().level))
    if found["kind"] == "unknown":
        return ToolResult([content.text(found["error"])], found, is_error=True)
    return ToolResult(structured=found)
