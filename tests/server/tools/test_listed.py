# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of tools, as clients and models get it: small, and in a form that every provider takes."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Annotated, Any

import fastjsonschema
import pytest
from bl_ext.user_default.mcp_bridge.server import handlers
from bl_ext.user_default.mcp_bridge.server.protocol import listing
from bl_ext.user_default.mcp_bridge.server.protocol.features import Tool
from bl_ext.user_default.mcp_bridge.server.protocol.messages.validation import Check, from_texts
from bl_ext.user_default.mcp_bridge.server.tools import all_tools
from bl_ext.user_default.mcp_bridge.server.tools.schema import Bounds, Shown, input_schema

from support.clients import providers

#: Characters of a whole list, as it goes over the wire.
MOST = 16_000


def _size(tools: list[Tool]) -> int:
    return len(json.dumps([listing.tool(one) for one in tools], ensure_ascii=False, separators=(",", ":")))


def test_the_list_is_small_with_every_service_in_use() -> None:
    assert _size([one for one in all_tools() if one.listed]) <= MOST


@pytest.mark.parametrize("provider", [providers.openai_strict, providers.gemini, providers.anthropic])
@pytest.mark.parametrize("one", all_tools(), ids=lambda one: one.name)
def test_every_schema_is_taken_by_every_provider(one: Tool, provider: Any) -> None:
    provider(one.name, listing.tool(one)["inputSchema"])


@pytest.mark.parametrize(
    ("schema", "provider"),
    [
        ({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}}, providers.openai_strict),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {}}}}, providers.openai_strict),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, providers.openai_strict),
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "a"}}},
            providers.openai_strict,
        ),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, providers.gemini),
        ({"type": "object", "properties": {"a": {"type": "integer", "enum": [1]}}}, providers.gemini),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, providers.gemini),
        ({"type": "string"}, providers.anthropic),
    ],
)
def test_the_checks_see_what_providers_refuse(schema: Any, provider: Any) -> None:
    with pytest.raises(providers.NotTaken):
        provider("t", schema)


@pytest.mark.parametrize("one", all_tools(), ids=lambda one: one.name)
def test_the_form_that_a_tool_shows_is_accepted(one: Tool) -> None:
    """Whatever fits the list's schema gets as far as the server's own check of its limits."""
    shown = listing.tool(one)["inputSchema"]
    given = {name: _example(schema) for name, schema in shown.get("properties", {}).items()}
    types = _without_limits(one.input_schema)
    fastjsonschema.compile(shown)(given)
    fastjsonschema.compile(types)(from_texts(one.input_schema, given))
    assert set(given) | set(one.further) == set(one.input_schema["properties"])
    for name in one.further:
        assert name in listing.tool(one)["description"]
        assert name not in one.input_schema.get("required", ())


def _example(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "string":
            return "{}"
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "array":
            return [_example(schema["items"])] * schema.get("minItems", 1)
    return {name: _example(each) for name, each in schema["properties"].items()}


def _without_limits(schema: Any) -> Any:
    limits = {"minLength", "maxLength", "pattern", "minItems", "maxItems", "minimum", "maximum"}
    if isinstance(schema, dict):
        return {key: _without_limits(value) for key, value in schema.items() if key not in limits}
    return [_without_limits(each) for each in schema] if isinstance(schema, list) else schema


def test_another_type_may_be_shown_than_is_taken() -> None:
    def look(
        context: Any,
        tree: Annotated[dict[str, Any], Shown(str)],
        name: Annotated[str, Bounds(shortest=1, longest=9)] = "a",
        seldom: int = 1,
    ) -> None:
        """Look."""

    assert input_schema(look, shown=True, but=("seldom",)) == {
        "type": "object",
        "properties": {"tree": {"type": "string"}, "name": {"type": "string", "default": "a"}},
        "required": ["tree"],
    }
    assert input_schema(look)["properties"]["tree"] == {"type": "object"}


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"a": '{"b": 1}'}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": "no JSON"}, {"a": "no JSON"}),
        ({"a": "[1]"}, {"a": "[1]"}),
        ({"text": '{"b": 1}'}, {"text": '{"b": 1}'}),
        ({"list": ['{"b": 1}', {"b": 2}]}, {"list": [{"b": 1}, {"b": 2}]}),
    ],
)
def test_a_text_of_json_is_taken_for_an_object_where_one_is_wanted(given: Any, taken: Any) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "object"},
            "text": {"anyOf": [{"type": "string"}, {"type": "object"}]},
            "list": {"type": "array", "items": {"type": "object"}},
        },
    }
    assert from_texts(schema, given) == taken


_VALUES = [
    "",
    "Cube",
    "MATERIAL",
    "2",
    '{"a": 1}',
    "[1]",
    0,
    1,
    -1,
    3,
    0.5,
    3.0,
    float("nan"),
    True,
    False,
    None,
]
_CONTAINERS: list[Any] = [[], [1, 2, 3], ["a"], {}, {"a": None}]


@pytest.mark.parametrize("one", all_tools(), ids=lambda one: one.name)
def test_the_short_way_to_check_arguments_finds_what_the_long_one_finds(one: Tool) -> None:
    check, schema = Check(one.input_schema), one.input_schema
    chance = random.Random(one.name)
    known, required = schema.get("properties", {}), schema.get("required", ())
    names = [*known, *one.other_names, "nothing"]

    for _ in range(400):
        wanted = {*required, *chance.sample(names, chance.randint(0, min(3, len(names))))}
        given = {name: _value(known.get(name, {}), chance) for name in wanted}
        before = repr(given)
        taken, problem = _the_long_way(one, check, given)
        if check.fits_as_it_is(given):
            assert problem is None
            assert repr(taken) == repr(given)
        elif problem is None and repr(taken) == before and set(given) <= set(known):
            assert any(not isinstance(value, str | int | float) for value in given.values())
        assert repr(given) == before


def _the_long_way(one: Tool, check: Check, given: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    named = handlers._named(SimpleNamespace(known_check=lambda _tool: None), one, given)
    return named, check(named)


def _value(schema: dict[str, Any], chance: random.Random) -> Any:
    """Often one that fits."""
    forms = [schema, *schema.get("anyOf", ())]
    fitting = [value for form in forms for value in form.get("enum", ())]
    kinds = {form.get("type") for form in forms if isinstance(form.get("type"), str)}
    fitting += ["Cube"] * ("string" in kinds) + [3] * bool(kinds & {"integer", "number"})
    fitting += [True] * ("boolean" in kinds)
    return chance.choice(fitting if fitting and chance.random() < 0.7 else [*_VALUES, *_CONTAINERS])
