# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool that finds tools, so that the list which every client is given stays small."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from ..mcp.context import RequestContext
from ..mcp.features import Tool
from .registry import tool
from .schema import Bounds

__all__ = ("find_tools", "ranked")

#: What a word counts by where it stands.
_NAME, _TITLE, _DESCRIPTION, _PARAMETERS = 6.0, 3.0, 2.0, 1.0
_FILLERS = frozenset(
    "a an and as at by for from how i in into is it of on or that the this to want with".split()
)


class FoundTool(TypedDict):
    name: str
    description: str
    input_schema: dict[str, Any]


class FoundTools(TypedDict):
    tools: list[FoundTool]


@tool(title="Find Tools", read_only=True)
async def find_tools(
    context: RequestContext,
    query: Annotated[str, Bounds(shortest=1, longest=200)],
    limit: Annotated[int, Bounds(1, 50)] = 5,
) -> FoundTools:
    """Find further tools, best first, by what they do: batches, exporting, opening and saving files, animation,
    node trees, views, API documentation, history, events. Call them by name.
    """
    from . import all_tools  # which has this one too

    found = ranked(query, all_tools())[:limit]
    context.list_tools(one.name for one in found)
    return {
        "tools": [
            {"name": one.name, "description": one.description, "input_schema": one.input_schema}
            for one in found
        ]
    }


def ranked(query: str, tools: Sequence[Tool]) -> list[Tool]:
    """The tools that have any word of `query`, best first: rare words count more, and words of a name most."""
    weights = {one.name: _weights(one) for one in tools}
    spread = Counter(word for words in weights.values() for word in words)

    def score(one: Tool) -> float:
        return sum(
            _best(word, weights[one.name]) * math.log(1 + len(tools) / max(1, spread[word]))
            for word in _words(query)
        ) + (100.0 if one.name == query.strip() else 0.0)

    scores = {one.name: score(one) for one in tools}
    return sorted((one for one in tools if scores[one.name] > 0), key=lambda one: -scores[one.name])


def _weights(one: Tool) -> dict[str, float]:
    """How much each word that describes a tool counts."""
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
    """The word itself, or half of what begins like it."""
    alike = (weight / 2 for other, weight in weights.items() if len(word) > 3 and other.startswith(word))
    return weights.get(word) or max(alike, default=0.0)


def _words(text: str) -> Iterable[str]:
    """Words in lower case, without a plural's s and what tells nothing."""
    found = dict.fromkeys(re.findall(r"[a-z0-9]+", text.lower()))
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in _FILLERS
    ]
