# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles the requests that are the same for every client and connection: lists, calls, reads, tasks.

A method returns its result at once, or the work that a handler has to do for it. It raises RpcError for invalid
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...base.errors import BridgeError
from ...base.jobs import Job
from . import asking, listing, tasks
from .context import Call, Era
from .core import STATELESS_CAPABILITIES, Core
from .features import Completer
from .messages.content import Json
from .messages.errors import invalid_params, resource_not_found
from .messages.pagination import page
from .messages.revisions import STATELESS
from .work import CallTool, Complete, GetPrompt, ReadResource, Work

Method = Callable[[Core, Call], Json | Work]


def discover(core: Core, _call: Call) -> Json:
    """Handle `server/discover`."""
    result: Json = {"supportedVersions": list(STATELESS), "capabilities": STATELESS_CAPABILITIES}
    if core.instructions:
        result["instructions"] = core.instructions
    return result


def tools_list(core: Core, call: Call) -> Json:
    """Handle `tools/list`."""
    core.was_listed(call.client.id)
    return _listed(call, "tools", "tools", core.tools_for(call.client.id), listing.tool)


def resources_list(core: Core, call: Call) -> Json:
    """Handle `resources/list`."""
    return _listed(call, "resources", "resources", core.features.resources.values(), listing.resource)


def templates_list(core: Core, call: Call) -> Json:
    """Handle `resources/templates/list`."""
    items = core.features.templates.values()
    return _listed(call, "resources/templates", "resourceTemplates", items, listing.template)


def prompts_list(core: Core, call: Call) -> Json:
    """Handle `prompts/list`."""
    return _listed(call, "prompts", "prompts", core.features.prompts.values(), listing.prompt)


def tools_call(core: Core, call: Call) -> CallTool:
    """Handle `tools/call`."""
    name = _string(call.params, "name")
    tool = core.features.tools.get(name)
    if tool is None:
        raise invalid_params(f"Unknown tool: {name}")
    return CallTool(tool, _object(call.params, "arguments"))


def resources_read(core: Core, call: Call) -> ReadResource:
    """Handle `resources/read`."""
    uri = _string(call.params, "uri")
    resource = core.features.resources.get(uri)
    if resource:
        return ReadResource(uri, lambda ctx: resource.read(ctx, uri))
    matched = core.features.match(uri)
    if matched is None:
        raise resource_not_found(uri, stateless=call.era is Era.STATELESS)
    template, variables = matched
    return ReadResource(uri, lambda ctx: template.read(ctx, uri, variables))


def prompts_get(core: Core, call: Call) -> GetPrompt:
    """Handle `prompts/get`."""
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
    return GetPrompt(prompt, arguments)


def complete(core: Core, call: Call) -> Complete:
    """Handle `completion/complete`."""
    argument = _object(call.params, "argument")
    name, value = _string(argument, "name", "argument."), _string(argument, "value", "argument.")
    completer = _completer(core, _object(call.params, "ref"), name)
    context = _object(_object(call.params, "context"), "arguments", "context.")
    return Complete(completer, value, context)


def tasks_get(core: Core, call: Call) -> Json:
    """Handle `tasks/get`."""
    return tasks.detailed(_job(core, call), core.inputs)


def tasks_update(core: Core, call: Call) -> Json:
    """Handle `tasks/update`."""
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
    """Handle `tasks/cancel`."""
    core.jobs.cancel(_job(core, call).id, call.client.id)
    return {}


#: The methods of both eras.
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
