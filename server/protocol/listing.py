# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the entries of the lists of tools, resources, templates and prompts that a client requests."""

from __future__ import annotations

from typing import Any

from .features import Prompt, PromptArgument, Resource, ResourceTemplate, Tool
from .messages.content import Json


def tool(feature: Tool) -> Json:
    """Return a `Tool` of the schema, without an output schema: these are half of the list and rarely needed."""
    return _set(
        name=feature.name,
        title=feature.title,
        description=feature.description + _further(feature),
        inputSchema=feature.listed_schema or feature.input_schema,
        annotations=dict(feature.annotations),
        icons=list(feature.icons),
        _meta=feature.meta and dict(feature.meta),
    )


def _further(feature: Tool) -> str:
    names = ", ".join(feature.further)
    return f" Also takes {names}; see find_tools." if names else ""


def resource(feature: Resource) -> Json:
    """Return a `Resource` of the schema."""
    listed = _set(uri=feature.uri, **_resource(feature))
    if feature.size is not None:
        listed["size"] = feature.size
    return listed


def template(feature: ResourceTemplate) -> Json:
    """Return a `ResourceTemplate` of the schema."""
    return _set(uriTemplate=feature.uri_template, **_resource(feature))


def prompt(feature: Prompt) -> Json:
    """Return a `Prompt` of the schema."""
    return _set(
        name=feature.name,
        title=feature.title,
        description=feature.description,
        arguments=[_argument(argument) for argument in feature.arguments],
        icons=list(feature.icons),
        _meta=feature.meta and dict(feature.meta),
    )


def _argument(argument: PromptArgument) -> Json:
    listed = _set(name=argument.name, title=argument.title, description=argument.description)
    return {**listed, "required": argument.required}


def _resource(feature: Resource | ResourceTemplate) -> Json:
    return {
        "name": feature.name,
        "title": feature.title,
        "description": feature.description,
        "mimeType": feature.mime_type,
        "annotations": dict(feature.annotations),
        "icons": list(feature.icons),
        "_meta": feature.meta and dict(feature.meta),
    }


def _set(**members: Any) -> Json:
    """Return the members that are not empty: a model reads the list and pays for each word."""
    return {key: value for key, value in members.items() if value}
