# SPDX-License-Identifier: GPL-3.0-or-later
"""A misfit is named by its field."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.messages.validation import Check, without_nulls

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "at": {"type": "array", "items": {"type": "number"}, "maxItems": 3},
        "how": {"type": "object", "properties": {"deep": {"enum": ["a", "b"]}}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "x", "at": [1, 2.5], "how": {"deep": "a"}}, None),
        ({}, "'name' is missing (parameters: name, at, how)"),
        (
            {"nmae": "x"},
            "'name' is missing; there is no 'nmae'. Did you mean 'name'? (parameters: name, at, how)",
        ),
        ({"name": 1}, "name: must be string"),
        ({"name": ""}, "name: must be longer than or equal to 1 characters"),
        ({"name": "x", "at": [1, "2"]}, "at[1]: must be number"),
        ({"name": "x", "how": {"deep": "c"}}, "how.deep: must be one of ['a', 'b']"),
        ({"name": "x", "xyz": 1}, "there is no 'xyz' (parameters: name, at, how)"),
    ],
)
def test_the_field_is_named(value: object, problem: str | None) -> None:
    assert Check(SCHEMA)(value) == problem


OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"anyOf": [{"type": "array", "items": {"type": "integer"}, "minItems": 2}, {"type": "null"}]},
        "how": {"anyOf": [SCHEMA, {"type": "null"}]},
        "other": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"size": None}, None),
        ({"size": [1]}, "size: must contain at least 2 items"),
        ({"size": [1, "a"]}, "size[1]: must be integer"),
        ({"how": {"name": 5}}, "how.name: must be string"),
        ({"how": {}}, "how: must contain ['name'] properties"),
        ({"other": None}, "other: cannot be validated by any definition"),
    ],
)
def test_what_is_wrong_inside_an_optional_value_is_named(value: object, problem: str | None) -> None:
    assert Check(OPTIONAL)(value) == problem


def test_the_value_is_not_changed_by_defaults() -> None:
    value: dict[str, Any] = {}
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}}
    assert Check(schema)(value) is None
    assert value == {}


def test_null_stands_for_what_may_be_left_out_and_for_nothing_else() -> None:
    schema = SCHEMA | {
        "properties": {**SCHEMA["properties"], "free": {"anyOf": [{"type": "null"}, {"type": "string"}]}}
    }
    given = {"name": None, "at": None, "free": None, "unknown": None}
    assert without_nulls(schema, given) == {"name": None, "free": None, "unknown": None}


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"name": "x"}, True),
        ({"name": ""}, False),
        ({}, False),
        ({"name": "x", "xyz": 1}, False),
        ({"name": "x", "how": "{}"}, False),  # a text that is decoded first
        ({"name": "x", "at": [1]}, False),  # inside a list something might have to be decoded: not looked at
    ],
)
def test_single_values_that_need_no_change_fit_as_they_are(value: dict[str, Any], fits: bool) -> None:
    assert Check(SCHEMA).fits_as_it_is(value) is fits
