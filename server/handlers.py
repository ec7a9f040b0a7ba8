# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the work of a request and makes its result.

Every call of a tool uses this module: calls from a client, from `use_tool` and from `batch`. So there is one check of
arguments, and one way for an error to become a result.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ..base.errors import BridgeError, HandlerError, InvalidParamsError
from .protocol.context import Call, Era, InputRequired, RequestContext
from .protocol.core import Core
from .protocol.features import Tool
from .protocol.messages.content import Json, ToolResult, failed, tool_result
from .protocol.messages.errors import MissingCapability, RpcError, as_bridge_error, resource_not_found
from .protocol.messages.validation import from_texts, without_nulls
from .protocol.work import CallTool, Complete, GetPrompt, ReadResource, Work

__all__ = ("MAX_COMPLETIONS", "call_now", "call_tool", "perform")

#: The most completion values in one answer, by the schema.
MAX_COMPLETIONS = 100

_log = logging.getLogger(__name__)


async def perform(core: Core, context: RequestContext, call: Call, work: Work) -> Json:
    """Return the result of a request. A failed tool gives a result, too; other failures raise RpcError."""
    match work:
        case CallTool(tool, arguments):
            try:
                return tool_result(await call_tool(core, context, call, tool, arguments))
            except BridgeError as error:
                return tool_result(failed(error))
        case ReadResource(uri, read):
            try:
                return {"contents": await read(context)}
            except LookupError as error:
                raise resource_not_found(uri, stateless=call.era is Era.STATELESS) from error
        case GetPrompt(prompt, texts):
            result: Json = {"messages": await prompt.get(context, texts)}
            return {**result, "description": prompt.description} if prompt.description else result
        case Complete(completer, value, so_far):
            values = list(await completer(context, value, so_far)) if completer else []
            shown = values[:MAX_COMPLETIONS]
            has_more = len(values) > len(shown)
            return {"completion": {"values": shown, "total": len(values), "hasMore": has_more}}


async def call_tool(
    core: Core, context: RequestContext, call: Call, tool: Tool, arguments: Json
) -> ToolResult:
    """Check the arguments and call a tool. Any failure raises BridgeError, after a call of `core.refused`."""
    named = _named(tool, arguments)
    with _failures(core, call, tool, named):
        return await tool.handler(context, _checked(core, tool, named))


def call_now(core: Core, context: RequestContext, call: Call, tool: Tool, arguments: Json) -> ToolResult:
    """Check the arguments and call a tool with `now` directly on Blender's main thread. Fails as `call_tool` does."""
    assert tool.now is not None
    named = _named(tool, arguments)
    with _failures(core, call, tool, named):
        return tool.now(context, _checked(core, tool, named))


def _named(tool: Tool, arguments: Json) -> Json:
    """Return the arguments with the names and forms of the schema.

    If an argument comes under both of its names, the check refuses it later.
    """
    listed = {name: tool.other_names.get(name, name) for name in arguments}
    named = {name if listed[name] in arguments else listed[name]: value for name, value in arguments.items()}
    found: Json = from_texts(tool.input_schema, without_nulls(tool.input_schema, named))
    return found


def _checked(core: Core, tool: Tool, arguments: Json) -> Json:
    problem = core.check(tool)(arguments)
    if problem:
        raise InvalidParamsError(f"Invalid arguments for {tool.name}: {problem}")
    return arguments


@contextmanager
def _failures(core: Core, call: Call, tool: Tool, arguments: Json) -> Iterator[None]:
    """Turn any error inside this context into a BridgeError, so that the assistant can read it.

    JSON-RPC errors pass unchanged: they belong to the protocol.
    """
    try:
        try:
            yield
        except MissingCapability as error:
            if call.era is Era.STATELESS:
                raise
            raise as_bridge_error(error) from error
        except (RpcError, BridgeError, InputRequired, asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit of a tool would end the event loop
            _log.exception("tool %s failed", tool.name)
            raise HandlerError(tool.name, error) from error
    except BridgeError as error:
        core.refused(tool, call.client, arguments, error)
        raise
