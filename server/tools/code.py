# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that run an assistant's Python, or tell it what it may write."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import bpy

from ... import settings
from ...errors import BridgeError, HandlerError
from ...sandbox import arithmetic, review, rna
from ...sandbox.policy import policy
from ...settings import Level
from ..mcp import content
from ..mcp.content import ToolResult
from ..mcp.context import RequestContext
from .registry import tool


class CodeResult(TypedDict):
    """Every form that the result of running code takes."""

    status: Literal["success", "pending", "error"]
    result: NotRequired[Any]
    stdout: NotRequired[str]
    dry_run: NotRequired[bool]
    request_id: NotRequired[str]
    message: NotRequired[str]
    error: NotRequired[str]
    cause: NotRequired[str]
    line: NotRequired[int | None]


def failure(error: BridgeError) -> ToolResult:
    """The result that tells an assistant why its code did not run, or where it failed."""
    facts: dict[str, Any] = {"status": "error", "error": type(error).__name__, "message": str(error)}
    if isinstance(error, HandlerError):
        facts["cause"] = type(error.original).__name__
    if getattr(error, "line", None) is not None:
        facts["line"] = error.line  # type: ignore[attr-defined]
    return ToolResult([content.text(_sentence(facts))], facts, is_error=True)


def _sentence(facts: dict[str, Any]) -> str:
    where = f" (line {facts['line']})" if "line" in facts else ""
    return f"{facts['error']}{where}: {facts['message']}"


@tool(title="Execute Blender Code", destructive=True, output=CodeResult)
def execute_blender_code(
    context: RequestContext, code: str, title: str = "", level: Level | None = None
) -> ToolResult:
    """Run Python in the open scene, sandboxed, as one undo step; a failure rolls everything back. `bpy`, `bmesh`,
    `mathutils`, `math` and the like can be imported; files, network and processes cannot. Assign what you want
    back to `result`; print goes to `stdout`.

    title: a few words for the user's undo history.
    level: ask for less than allowed: math (no bpy) or arithmetic.
    """
    try:
        result = review.run_unasked(
            code,
            settings=settings.current(),
            window=not bpy.app.background,
            requester=context.client.name,
            title=title or "Assistant's Script",
            level=level,
            cancelled=context.cancelled.is_set,
        )
    except BridgeError as error:
        return failure(error)
    return ToolResult(structured=result)


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
    """Do arithmetic: assignments with + - * / // % ** and numbers, nothing else. Gives the variables' values.

    code: such as `r = 2.5` and `area = 3.14159 * r ** 2`, one on a line.
    """
    try:
        return ToolResult(structured={"status": "success", "result": arithmetic.calculate(code)})
    except BridgeError as error:
        return failure(error)


@tool(title="Inspect Tool", read_only=True, output=dict)
def inspect_tool(context: RequestContext, tool_name: str) -> ToolResult:
    """What this Blender knows of an operator, a type or a member: description, parameters with types, defaults,
    ranges and enum items, and whether scripts may use it.

    tool_name: such as bpy.ops.mesh.primitive_cube_add, bpy.types.Object or bpy.types.Object.location.
    """
    found = rna.inspect(tool_name, rna.current(), policy(settings.current().level))
    if found["kind"] == "unknown":
        return ToolResult([content.text(found["error"])], found, is_error=True)
    return ToolResult(structured=found)
