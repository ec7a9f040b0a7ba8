# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes an MCP tool from a typed Python function.

A plain function runs on Blender's main thread, an `async` one on the server's event loop. The first parameter is the
call's context. A dict that the function returns is the structured result; an error that it raises becomes a result
that the assistant reads (`server.handlers`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, get_type_hints

from ..protocol.context import RequestContext
from ..protocol.features import Tool, ToolFunction, ToolHandler
from ..protocol.messages.content import ToolResult
from .schema import describe, input_schema, of_type

__all__ = ("hints", "make", "result_of", "tidy", "tool", "whole_numbers")

Function = Callable[..., Any]


def tool(
    *,
    title: str,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
    output: Any = None,
    disturbs: Callable[[Mapping[str, Any]], bool] | None = None,
    other_names: Mapping[str, str] = MappingProxyType({}),
    seldom: Collection[str] = (),
    records_itself: bool = False,
) -> Callable[[Function], Function]:
    """Mark a function as a tool. The flags become MCP's annotations.

    `disturbs`: whether a read-only tool, with these arguments, changes something in Blender for a moment, and so has
    to wait while the user is in the middle of something.

    `other_names`: further names of parameters, which the tool accepts and the list does not show.

    `seldom`: parameters that the list only names at the end of the description; `find_tools` explains them.

    `records_itself`: the field of `Tool`.

    `output`: the type of the structured result if the function's return type (a ToolResult) does not say it.
    """

    def mark(function: Function) -> Function:
        function.__tool__ = {  # type: ignore[attr-defined]
            "title": title,
            "annotations": hints(read_only, destructive, idempotent, open_world),
            "output": output,
            "disturbs": disturbs,
            "other_names": other_names,
            "seldom": seldom,
            "records_itself": records_itself,
        }
        return function

    return mark


def hints(read_only: bool, destructive: bool, idempotent: bool, open_world: bool) -> dict[str, bool]:
    """Return MCP's hints, without those that equal a client's assumptions: a model pays for the list."""
    given = {
        "readOnlyHint": (read_only, False),
        "destructiveHint": (destructive or read_only, True),
        "idempotentHint": (idempotent and not read_only, False),
        "openWorldHint": (open_world, True),
    }
    return {name: value for name, (value, assumed) in given.items() if value is not assumed}


def make(function: Function, *, listed: bool = True) -> Tool:
    """Return the tool of a function marked with `tool`; `listed` is the field of `Tool`."""
    facts = dict(function.__tool__)  # type: ignore[attr-defined]
    disturbs, seldom = facts.pop("disturbs"), facts.pop("seldom")
    output = facts.pop("output") or get_type_hints(function).get("return")
    changes = "readOnlyHint" not in facts["annotations"]
    awaited = inspect.iscoroutinefunction(function)
    return Tool(
        name=function.__name__,
        description=describe(function)[0],
        input_schema=input_schema(function),
        listed_schema=input_schema(function, shown=True, but=seldom),
        further=seldom,
        output_schema=None if output in (None, ToolResult) else of_type(output),
        handler=_handler(function) if awaited else None,
        now=None if awaited else _now(function),
        changes=lambda arguments: changes or (disturbs is not None and disturbs(arguments)),
        listed=listed,
        runs_scripts=getattr(function, "__runs_scripts__", False),
        **facts,
    )


def _handler(function: Function) -> ToolHandler:
    integers = whole_numbers(function)

    async def handle(context: RequestContext, arguments: dict[str, Any]) -> ToolResult:
        return result_of(await function(context, **tidy(arguments, integers)))

    return handle


def _now(function: Function) -> ToolFunction:
    integers = whole_numbers(function)

    def now(context: RequestContext, arguments: dict[str, Any]) -> ToolResult:
        return result_of(function(context, **tidy(arguments, integers)))

    return now


def result_of(value: Any) -> ToolResult:
    """Return a function's value as the result of its tool."""
    return value if isinstance(value, ToolResult) else ToolResult(structured=value)


def tidy(arguments: dict[str, Any], integers: frozenset[str]) -> dict[str, Any]:
    """Return the arguments with whole numbers as int: JSON Schema counts 3.0 as an integer."""
    return {
        name: int(value) if name in integers and isinstance(value, float) else value
        for name, value in arguments.items()
    }


def whole_numbers(function: Function, *, context: bool = True) -> frozenset[str]:
    """Return the parameters of a tool that are integers; `context` is that of `input_schema`."""
    return frozenset(
        name
        for name, schema in input_schema(function, context=context)["properties"].items()
        if "integer" in schema.get("type", ())
        or any(p.get("type") == "integer" for p in schema.get("anyOf", ()))
    )
