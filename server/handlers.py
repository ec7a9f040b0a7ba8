# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the work of a request and makes its result.

Every call of a tool uses this module: calls from a client, from `use_tool` and from `batch`. So there is one check of
arguments, and one way for an error to become a result.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base import main_thread
from ..base.errors import BridgeError, HandlerError, InvalidParamsError
from ..base.process import threads
from .protocol.context import Call, Era, InputRequired, RequestContext
from .protocol.core import Core
from .protocol.features import Tool
from .protocol.messages.content import Json, ToolResult, failed, tool_result
from .protocol.messages.errors import MissingCapability, RpcError, as_bridge_error, resource_not_found
from .protocol.messages.validation import from_texts, without_nulls
from .protocol.work import CallTool, Complete, GetPrompt, ReadResource, Work

__all__ = ("MAX_COMPLETIONS", "Visit", "call_now", "call_tool", "perform")

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


class Visit:
    """A call of a tool with `now`, on its way to Blender's main thread and back.

    It has no reference to its work, which has one to it: only the garbage collector would free such a circle.
    """

    def __init__(self, core: Core, call: Call, tool: Tool, arguments: Json) -> None:
        begin, named = time.perf_counter(), _named(core, tool, arguments)
        self._attempt = _Attempt(core, call, tool, named, begin)

    def begin(self, context: RequestContext) -> futures.Future[ToolResult]:
        """Return the work: it ends with what the tool returns or raises. If it is cancelled, it does not begin."""
        attempt = self._attempt
        return _submit(attempt.core, context, attempt.call, attempt.tool, attempt.arguments)

    def result(self, work: futures.Future[ToolResult]) -> Json:
        """Return the result of the ended work as `perform` does. Raises CancelledError for work that was cancelled."""
        try:
            with self._attempt as done:
                made = done(work.result())
        except BridgeError as error:
            made = failed(error)
        return tool_result(made)


async def call_tool(
    core: Core, context: RequestContext, call: Call, tool: Tool, arguments: Json
) -> ToolResult:
    """Check the arguments and call a tool. Any failure raises BridgeError, after a call of `core.refused`."""
    named = _named(core, tool, arguments)
    with _Attempt(core, call, tool, named, time.perf_counter()) as done:
        if tool.handler is None:
            return done(await asyncio.wrap_future(_submit(core, context, call, tool, named)))
        checked = _checked(core, tool, named)
        if tool.is_recorded and core.record is not None:
            await asyncio.wrap_future(threads.call(core.record, tool, call.client, checked, name="record"))
        return done(await tool.handler(context, checked))


def call_now(core: Core, context: RequestContext, call: Call, tool: Tool, arguments: Json) -> ToolResult:
    """Check the arguments and call a tool with `now` directly on Blender's main thread. Fails as `call_tool` does."""
    named = _named(core, tool, arguments)
    with _Attempt(core, call, tool, named, time.perf_counter()) as done:
        return done(_do_now(core, context, call, tool, _checked(core, tool, named)))


def _do_now(core: Core, context: RequestContext, call: Call, tool: Tool, arguments: Json) -> ToolResult:
    assert tool.now is not None
    if tool.is_recorded and core.record is not None:
        core.record(tool, call.client, arguments)
    return tool.now(context, arguments)


def _submit(
    core: Core, context: RequestContext, call: Call, tool: Tool, named: Json
) -> futures.Future[ToolResult]:
    """Have Blender's main thread call a tool with `now`. Any failure before that fails the future at once."""
    try:
        arguments = _checked(core, tool, named)
        changes = tool.changes(arguments)
    except Exception as error:
        failure: futures.Future[ToolResult] = futures.Future()
        failure.set_exception(error)
        return failure
    do = partial(_do_now, core, context, call, tool, arguments)
    return main_thread.run(do, changes=changes, cancelled=context.cancelled, label=tool.name)


class _Fitting(dict[str, Any]):
    """Arguments of which `_named` found that they fit the schema as they came: nobody checks them again."""


def _named(core: Core, tool: Tool, arguments: Json) -> Json:
    """Return the arguments with the names and forms of the schema.

    If an argument comes under both of its names, the check refuses it later.
    """
    check = core.known_check(tool)
    if check is not None and check.fits_as_it_is(arguments):
        return _Fitting(arguments)
    listed = {name: tool.other_names.get(name, name) for name in arguments}
    named = {name if listed[name] in arguments else listed[name]: value for name, value in arguments.items()}
    found: Json = from_texts(tool.input_schema, without_nulls(tool.input_schema, named))
    return found


def _checked(core: Core, tool: Tool, arguments: Json) -> Json:
    if isinstance(arguments, _Fitting):
        return arguments
    problem = core.check(tool)(arguments)
    if problem:
        raise InvalidParamsError(f"Invalid arguments for {tool.name}: {problem}")
    return arguments


@dataclass(slots=True)
class _Attempt:
    """Reports a tool call to `core`: `with` gives a function that takes the call's result.

    `begin`: the time of `time.perf_counter` when the call came. Any error inside this context becomes a BridgeError, so
    that the assistant can read it. JSON-RPC errors pass unchanged: they belong to the protocol. (A class, since the
    generator of a `@contextmanager` takes twice the time.)
    """

    core: Core
    call: Call
    tool: Tool
    arguments: Json
    begin: float
    has_failed: bool = True

    def __enter__(self) -> Callable[[ToolResult], ToolResult]:
        return self._done

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if error is not None:
                self._fail(error)
        finally:
            seconds = time.perf_counter() - self.begin
            self.core.called(self.tool, self.call.client, seconds, self.has_failed)

    def _done(self, result: ToolResult) -> ToolResult:
        self.has_failed = result.is_error
        return result

    def _fail(self, error: BaseException) -> None:
        """Report the error. Raise it in its final form, if it does not have that yet."""
        final = self._final(error)
        if isinstance(final, BridgeError):
            self.core.refused(self.tool, self.call.client, self.arguments, final)
        if final is not error:
            raise final from error

    def _final(self, error: BaseException) -> BaseException:
        """Return the error as it leaves this context."""
        if isinstance(error, MissingCapability) and self.call.era is not Era.STATELESS:
            return as_bridge_error(error)
        if isinstance(error, _FINAL):
            return error
        # Also SystemExit of a tool, which would end the event loop.
        _log.error("tool %s failed", self.tool.name, exc_info=error)
        return HandlerError(self.tool.name, error)


#: Errors that leave the context as they are.
_FINAL = (RpcError, BridgeError, InputRequired, GeneratorExit, asyncio.CancelledError, futures.CancelledError)
