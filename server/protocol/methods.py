# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests that are the same whoever sends them and over which connection: lists, calls, reads, tasks.

A method gives its result at once, or a coroutine function for the dispatcher to run. It raises RpcError for
parameters that don't fit.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from ...base.errors import BridgeError, HandlerError, InvalidParamsError
from ...base.jobs import Job
from . import asking, listing, tasks
from .context import Call, Era, RequestContext
from .core import STATELESS_CAPABILITIES, Core
from .features import Completer, Tool
from .messages import content, wire
from .messages.content import Json, ToolResult
from .messages.errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    MissingCapability,
    RpcError,
    as_bridge_error,
    invalid_params,
)
from .messages.pagination import page
from .messages.revisions import STATELESS
from .messages.validation import from_texts, without_nulls

Run = Callable[[RequestContext], Awaitable[Json]]
Method = Callable[[Core, Call], Json | Run]

#: Completion values in one answer, as the schema allows.
MAX_COMPLETIONS = 100

_log = logging.getLogger(__name__)


def discover(core: Core, _call: Call) -> Json:
    """server/discover"""
    result: Json = {"supportedVersions": list(STATELESS), "capabilities": STATELESS_CAPABILITIES}
    if core.instructions:
        result["instructions"] = core.instructions
    return result


def tools_list(core: Core, call: Call) -> Json:
    """tools/list"""
    core.was_listed(call.client.id)
    return _listed(call, "tools", "tools", core.tools_for(call.client.id), listing.tool)


def resources_list(core: Core, call: Call) -> Json:
    """resources/list"""
    return _listed(call, "resources", "resources", core.features.resources.values(), listing.resource)


def templates_list(core: Core, call: Call) -> Json:
    """resources/templates/list"""
    items = core.features.templates.values()
    return _listed(call, "resources/templates", "resourceTemplates", items, listing.template)


def prompts_list(core: Core, call: Call) -> Json:
    """prompts/list"""
    return _listed(call, "prompts", "prompts", core.features.prompts.values(), listing.prompt)


def tools_call(core: Core, call: Call) -> Run:
    """tools/call"""
    name = _string(call.params, "name")
    tool = core.features.tools.get(name)
    if tool is None:
        raise invalid_params(f"Unknown tool: {name}")
    arguments = _object(call.params, "arguments")

    async def run(ctx: RequestContext) -> Json:
        try:
            result = await call_tool(core, tool, ctx, call, arguments)
        except BridgeError as error:
            result = content.failed(error)
        return tool_result(result)

    return run


async def call_tool(core: Core, tool: Tool, ctx: RequestContext, call: Call, arguments: Json) -> ToolResult:
    """Check the arguments and call a tool. Whatever fails is a BridgeError, which `core.refused` was told of."""
    named = without_nulls(tool.input_schema, _by_listed_names(tool, arguments))
    named = from_texts(tool.input_schema, named)
    problem = core.check(tool)(named)
    try:
        if problem:
            raise InvalidParamsError(f"Invalid arguments for {tool.name}: {problem}")
        return await _perform(tool, ctx, call, named)
    except BridgeError as error:
        core.refused(tool, call.client, named, error)
        raise


def resources_read(core: Core, call: Call) -> Json | Run:
    """resources/read"""
    uri = _string(call.params, "uri")
    resource = core.features.resources.get(uri)
    if resource:
        return _reading(call, uri, lambda ctx: resource.read(ctx, uri))
    matched = core.features.match(uri)
    if matched is None:
        raise resource_not_found(call, uri)
    template, variables = matched
    return _reading(call, uri, lambda ctx: template.read(ctx, uri, variables))


def prompts_get(core: Core, call: Call) -> Json | Run:
    """prompts/get"""
    name = _string(call.params, "name")
    prompt = core.features.prompts.get(name)
    if prompt is None:
        raise invalid_params(f"Unknown prompt: {name}")
    arguments = _object(call.params, "arguments")
    for argument in prompt.arguments:
        if argument.required and argument.name not in arguments:
            raise invalid_params(f"arguments.{argument.name}: is required by prompt {name}")
    for key, value in arguments.items():
        if not isinstance(value, str):
            raise invalid_params(f"arguments.{key}: must be a string")

    async def run(ctx: RequestContext) -> Json:
        result: Json = {"messages": await prompt.get(ctx, arguments)}
        if prompt.description:
            result["description"] = prompt.description
        return result

    return run


def complete(core: Core, call: Call) -> Json | Run:
    """completion/complete"""
    argument = _object(call.params, "argument")
    name, value = _string(argument, "name", "argument."), _string(argument, "value", "argument.")
    completer = _completer(core, _object(call.params, "ref"), name)
    context = _object(_object(call.params, "context"), "arguments", "context.")

    async def run(ctx: RequestContext) -> Json:
        values = list(await completer(ctx, value, context)) if completer else []
        shown = values[:MAX_COMPLETIONS]
        return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}

    return run


def tasks_get(core: Core, call: Call) -> Json:
    """tasks/get"""
    return tasks.detailed(_job(core, call), core.inputs)


def tasks_update(core: Core, call: Call) -> Json:
    """tasks/update"""
    job = _job(core, call)
    responses = _object(call.params, "inputResponses")
    given = {
        key: asking.checked(f"inputResponses.{key}", request, responses[key])
        for key, request in core.inputs.pending(job.id).items()
        if key in responses
    }
    for key, answer in given.items():
        core.inputs.answer(job.id, key, answer)
    return {}


def tasks_cancel(core: Core, call: Call) -> Json:
    """tasks/cancel"""
    core.jobs.cancel(_job(core, call).id, call.client.id)
    return {}


#: Both eras.
SHARED: Mapping[str, Method] = {
    "tools/list": tools_list,
    "tools/call": tools_call,
    "resources/list": resources_list,
    "resources/templates/list": templates_list,
    "resources/read": resources_read,
    "prompts/list": prompts_list,
    "prompts/get": prompts_get,
    "completion/complete": complete,
}
STATELESS_METHODS: Mapping[str, Method] = {
    **SHARED,
    "server/discover": discover,
    "tasks/get": tasks_get,
    "tasks/update": tasks_update,
    "tasks/cancel": tasks_cancel,
}

#: Results that carry `ttlMs` and `cacheScope`, and for how long they may be kept. What is in a scene changes
#: at any moment; the lists change with the bridge's settings, which `list_changed` tells.
TTL_MS: Mapping[str, int] = {
    "server/discover": 60_000,
    "tools/list": 60_000,
    "prompts/list": 60_000,
    "resources/list": 60_000,
    "resources/templates/list": 60_000,
    "resources/read": 0,
}


def tool_result(result: ToolResult) -> Json:
    """A `CallToolResult`."""
    blocks = result.content
    found: Json = {"content": blocks, "isError": result.is_error}
    if result.structured is not None:
        found["structuredContent"] = result.structured
        if not blocks:
            found["content"] = [content.text(wire.encode(result.structured))]
    if result.meta:
        found["_meta"] = dict(result.meta)
    return found


def resource_not_found(call: Call, uri: str) -> RpcError:
    """The code changed with 2026-07-28."""
    code = INVALID_PARAMS if call.era is Era.STATELESS else RESOURCE_NOT_FOUND
    return RpcError(code, f"Resource not found: {uri}", {"uri": uri})


def _by_listed_names(tool: Tool, arguments: Json) -> Json:
    """The arguments by the names that the schema has. What came by both its names is left for the check to refuse."""
    listed = {name: tool.other_names.get(name, name) for name in arguments}
    return {name if listed[name] in arguments else listed[name]: value for name, value in arguments.items()}


async def _perform(tool: Tool, ctx: RequestContext, call: Call, arguments: Json) -> ToolResult:
    """Run a tool; whatever fails is a BridgeError, because the assistant can only act on what it reads."""
    try:
        return await tool.handler(ctx, arguments)
    except MissingCapability as error:
        if call.era is Era.STATELESS:
            raise
        raise as_bridge_error(error) from error
    except (RpcError, BridgeError):
        raise
    except Exception as error:
        _log.exception("tool %s failed", tool.name)
        raise HandlerError(tool.name, error) from error


def _reading(call: Call, uri: str, read: Callable[[RequestContext], Awaitable[list[Json]]]) -> Run:
    """A reader says by LookupError that the thing isn't there (any more)."""

    async def run(ctx: RequestContext) -> Json:
        try:
            return {"contents": await read(ctx)}
        except LookupError as error:
            raise resource_not_found(call, uri) from error

    return run


def _listed(call: Call, kind: str, member: str, items: Iterable[Any], shape: Callable[[Any], Json]) -> Json:
    found, cursor = page(list(items), call.params.get("cursor"), kind)
    result: Json = {member: [shape(item) for item in found]}
    if cursor:
        result["nextCursor"] = cursor
    return result


def _completer(core: Core, ref: Json, name: str) -> Completer | None:
    match ref.get("type"):
        case "ref/prompt":
            prompt = core.features.prompts.get(_string(ref, "name", "ref."))
            if prompt is None:
                raise invalid_params(f"ref.name: unknown prompt {ref['name']!r}")
            found = {argument.name: argument.complete for argument in prompt.arguments}
            if name not in found:
                raise invalid_params(f"argument.name: prompt {prompt.name} has no argument {name!r}")
            return found[name]
        case "ref/resource":
            template = core.features.templates.get(_string(ref, "uri", "ref."))
            if template is None:
                raise invalid_params(f"ref.uri: unknown resource template {ref['uri']!r}")
            return template.complete.get(name)
        case _:
            raise invalid_params("ref.type: must be ref/prompt or ref/resource")


def _job(core: Core, call: Call) -> Job:
    tasks.require(call.client_capabilities)
    task_id = _string(call.params, "taskId")
    try:
        return core.jobs.get(task_id, call.client.id)
    except BridgeError:
        raise invalid_params(f"taskId: there is no task {task_id!r}") from None


def _string(params: Mapping[str, Any], name: str, prefix: str = "") -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise invalid_params(f"{prefix}{name}: must be a string")
    return value


def _object(params: Mapping[str, Any], name: str, prefix: str = "") -> Json:
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid_params(f"{prefix}{name}: must be an object")
    return value
