# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool that makes many calls in one visit to Blender's main thread.

A batch takes only tools that finish in that one visit. A tool that asks the user, takes a rate limit, leaves the main
thread or outlasts a call is an `async` function, so no batch is a way round any of that.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from ...base import settings
from ...base.errors import BridgeError, Cancelled, InvalidParamsError, LimitExceeded
from ...base.similar_names import did_you_mean
from ...sandbox.run import undo
from .. import call_records
from ..protocol.context import RequestContext
from ..protocol.features import Tool
from ..protocol.messages.content import ToolResult, failed, text_and_structure
from ..protocol.messages.wire import encode
from .registry import tool
from .schema import Bounds, Shown
from .served import served_tools

__all__ = ("batch",)

#: The most characters of all results together; later results only say that they were left out.
_MOST_CHARACTERS = 8 << 20


class BatchCall(TypedDict):
    """One call of a batch."""

    tool: str
    arguments: NotRequired[Annotated[dict[str, Any], Shown(str)]]


class CallResult(TypedDict):
    """The result of one call: its structured result, or its text."""

    tool: str
    is_error: bool
    result: NotRequired[Any]
    text: NotRequired[str]


class BatchResult(TypedDict):
    """The results of all calls, in their order."""

    results: list[CallResult]
    failed: int
    #: Whether nothing of the calls' changes remains.
    rolled_back: bool


class _Stopped(Exception):
    """Tells that a call has failed and that the batch must stop there."""


@tool(title="Batch", destructive=True, output=BatchResult, records_itself=True)
def batch(
    context: RequestContext,
    calls: Annotated[list[BatchCall], Bounds(shortest=1, longest=100)],
    stop_on_error: bool = True,
    title: str = "",
) -> ToolResult:
    """Make up to 100 calls of quick tools at once and as one undo step, each with its own result. Not for tools that
    ask the user, run scripts or take long: loop in one script instead.

    calls: each with the tool's name and its arguments, a JSON object as text.
    stop_on_error: stop at the first call that fails and take back what those before it changed; false goes on.
    title: a few words for the undo history.
    """
    parts = {one.name: one for one in served_tools() if one.now and one.name != batch.__name__}
    changes = any(
        "readOnlyHint" not in parts[call["tool"]].annotations for call in calls if call["tool"] in parts
    )
    step = undo.one_step(title or f"{len(calls)} Calls") if changes else contextlib.nullcontext()
    done: list[tuple[str, ToolResult]] = []
    try:
        with step:
            _perform(context, calls, parts, done, stop_on_error=stop_on_error)
    except _Stopped:
        return _answer(done, rolled_back=changes, is_error=True)
    return _answer(done, rolled_back=False, is_error=all(result.is_error for _, result in done))


def _perform(
    context: RequestContext,
    calls: list[BatchCall],
    parts: Mapping[str, Tool],
    done: list[tuple[str, ToolResult]],
    *,
    stop_on_error: bool,
) -> None:
    limit_s = settings.current().time_limit(rehearsed=False)
    until = time.monotonic() + limit_s
    for call in calls:
        if context.cancelled.is_set():
            result = failed(Cancelled("Not begun: the batch was cancelled."))
        elif time.monotonic() > until:
            words = (
                f"Not begun: the batch has held Blender up for {limit_s:g} s, its limit. Send the rest again."
            )
            result = failed(LimitExceeded(words, limit="time"))
        else:
            result = _outcome(context, call["tool"], call.get("arguments", {}), parts)
        done.append((call["tool"], result))
        if result.is_error and stop_on_error:
            raise _Stopped


def _outcome(
    context: RequestContext, name: str, arguments: dict[str, Any], parts: Mapping[str, Tool]
) -> ToolResult:
    """Return the result of a call; a failure is a result, too."""
    try:
        if name not in parts:
            raise _no_part(context, name, arguments, parts)
        return context.use_now(name, arguments)
    except BridgeError as error:
        return failed(error)


def _no_part(
    context: RequestContext, name: str, arguments: dict[str, Any], parts: Mapping[str, Tool]
) -> InvalidParamsError:
    found = next((one for one in served_tools() if one.name == name), None)
    if found is None:
        return InvalidParamsError(f"Unknown tool: {name}.{did_you_mean(name, parts)}")
    error = InvalidParamsError(
        f"{name} cannot be part of a batch: call it by itself. Tools that can: {', '.join(sorted(parts))}."
    )
    call_records.refused(found, context.client, arguments, error)
    return error


def _answer(done: list[tuple[str, ToolResult]], *, rolled_back: bool, is_error: bool) -> ToolResult:
    """Return the answer of a batch: the text, then the pictures in the order of the calls."""
    results: list[CallResult] = []
    pictures: list[dict[str, Any]] = []
    room = _MOST_CHARACTERS
    for name, result in done:
        said: CallResult = {"tool": name, "is_error": result.is_error}
        texts = "\n".join(block["text"] for block in result.content if block["type"] == "text")
        shown = [block for block in result.content if block["type"] != "text"]
        room -= (
            len(encode(result.structured)) + len(texts) + sum(len(block.get("data", "")) for block in shown)
        )
        if room < 0:
            said["text"] = "Done, but the results before it have filled this answer: ask for it by itself."
        else:
            pictures += shown
            if result.structured is not None:
                said["result"] = result.structured
            if texts and (result.structured is None or result.is_error):
                said["text"] = texts
        results.append(said)
    failed = sum(result.is_error for _, result in done)
    facts: BatchResult = {"results": results, "failed": failed, "rolled_back": rolled_back}
    block, structured = text_and_structure(facts)
    return ToolResult([block, *pictures], structured, is_error=is_error)
