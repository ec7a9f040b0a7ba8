# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that find and call other tools, so that every client's list stays small."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from ...base.errors import InvalidParamsError
from ..protocol.context import RequestContext
from ..protocol.features import Tool
from ..protocol.messages.content import ToolResult
from .registry import tool
from .schema import Bounds, Shown
from .served import served_tools

__all__ = ("find_tools", "parameters_of", "ranked", "use_tool")

#: The score of a word by its place.
_NAME, _TITLE, _DESCRIPTION, _PARAMETERS = 6.0, 3.0, 2.0, 1.0
_FILLERS = frozenset(
    "a all an and any as at be by can do for from get how i in into is it make me my of on or please some that the "
    "their this to tool use want what who with you".split()
)
#: The part of a query, with rare words counting more, that a tool must match.
_LEAST_PART = 0.5


class FoundTool(TypedDict):
    """A tool's description for a model."""

    name: str
    description: str
    #: Each as `name: type`, with `= default` if it is optional, and its meaning.
    parameters: list[str]


class FoundTools(TypedDict):
    """Tools, and how to call them."""

    tools: list[FoundTool]
    how: str


_HOW = "Call one with use_tool: name, and its parameters as arguments."
_NONE_FOUND = "No tool does that. Try execute_blender_code, or other words."


@tool(title="Find Tools", read_only=True)
async def find_tools(
    context: RequestContext,
    query: Annotated[str, Bounds(shortest=1, longest=200)],
    limit: Annotated[int, Bounds(1, 50)] = 5,
) -> FoundTools:
    """Find tools, best first, by what they do: open, save and import files, animation, node trees, API documentation,
    history, events, assets; also a tool of your list, with all its parameters. Call them with use_tool.
    """
    found = ranked(query, served_tools())[:limit]
    await context.list_tools([one.name for one in found])
    tools: list[FoundTool] = [
        {"name": one.name, "description": one.description, "parameters": parameters_of(one)} for one in found
    ]
    return {"tools": tools, "how": _HOW if found else _NONE_FOUND}


@tool(title="Use Tool", destructive=True, open_world=True, records_itself=True)
async def use_tool(
    context: RequestContext, name: str, arguments: Annotated[dict[str, Any], Shown(str)] | None = None
) -> ToolResult:
    """Call any tool by its name: one that find_tools found, or one of your list with parameters that only find_tools
    shows. It is checked and answered as if called directly.

    arguments: its parameters, a JSON object as text, such as {"path": "chair.glb"}.
    """
    if name == use_tool.__name__:
        raise InvalidParamsError("use_tool cannot call itself: name another tool")
    return await context.use_tool(name, arguments or {})


def parameters_of(one: Tool) -> list[str]:
    """Return a tool's parameters in the form that a model reads best: a line each."""
    required = one.input_schema.get("required", ())
    return [
        f"{name}: {_type_of(schema)}"
        + (
            ""
            if name in required
            else f" = {json.dumps(schema['default'])}"
            if "default" in schema
            else ", optional"
        )
        + (f" – {schema['description']}" if "description" in schema else "")
        for name, schema in one.input_schema.get("properties", {}).items()
    ]


def _type_of(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(map(_type_of, schema["anyOf"]))
    kind = str(schema.get("type", "any"))
    if kind == "array" and schema.get("items"):
        return f"list of {_type_of(schema['items'])}"
    if kind == "object" and schema.get("properties"):
        return "{" + ", ".join(f"{name}: {_type_of(of)}" for name, of in schema["properties"].items()) + "}"
    return kind


def ranked(query: str, tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools that fit `query`, best first: rare words count more, and words of a name most.

    A tool that matches only the lesser part of the query is left out: no tool is better than a wrong one.
    """
    weights = {one.name: _weights(one) for one in tools}
    spread = Counter(word for words in weights.values() for word in words)
    asked = {word: math.log(1 + len(tools) / max(1, spread[word])) for word in _words(query)}
    scores = {one.name: 0.0 for one in tools}
    for one in tools:
        found = {word: best for word in asked if (best := _best(word, weights[one.name]))}
        if sum(asked[word] for word in found) >= _LEAST_PART * sum(asked.values()):
            scores[one.name] = sum(best * asked[word] for word, best in found.items())
        if one.name == query.strip():
            scores[one.name] += 100.0
    return sorted((one for one in tools if scores[one.name] > 0), key=lambda one: -scores[one.name])


def _weights(one: Tool) -> dict[str, float]:
    """Return the score of each word that describes a tool."""
    parameters: Mapping[str, Any] = one.input_schema.get("properties", {})
    texts = [(name, facts.get("description", "")) for name, facts in parameters.items()]
    weights: dict[str, float] = {}
    for text, weight in (
        (" ".join(" ".join(pair) for pair in texts), _PARAMETERS),
        (one.description, _DESCRIPTION),
        (one.title, _TITLE),
        (one.name, _NAME),
    ):
        weights.update(dict.fromkeys(_words(text), weight))
    return weights


def _best(word: str, weights: Mapping[str, float]) -> float:
    """Return the score of the word itself, or half the score of a word that begins with it."""
    alike = (weight / 2 for other, weight in weights.items() if len(word) > 3 and other.startswith(word))
    return weights.get(word) or max(alike, default=0.0)


def _words(text: str) -> Iterable[str]:
    """Return the words in lower case, without a plural's s and without words that carry no meaning."""
    found = dict.fromkeys(re.findall(r"[a-z0-9]+", text.lower()))
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in _FILLERS
    ]
