# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from bl_ext.user_default.mcp_bridge.server.tools.schema import Bounds, describe, input_schema, of_type


class Answer(TypedDict):
    status: Literal["success", "error"]
    line: NotRequired[int | None]


def sample(
    context: Any,
    name: str,
    sizes: Annotated[list[float], Bounds(shortest=1, longest=4)],
    limit: Annotated[int | None, Bounds(1, 1000)] = None,
    format: Literal["png", "jpeg"] = "png",
    at: tuple[float, float, float] | None = None,
) -> Answer:
    """Do a thing
    to it.

    name: the object's name,
        exactly.
    limit: how many.
    format of the day is a sentence, no parameter.
    """
    return {"status": "success"}


def test_input_schema_has_types_bounds_defaults_and_descriptions() -> None:
    assert input_schema(sample) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the object's name, exactly."},
            "sizes": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 4},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "how many."},
            "format": {"enum": ["png", "jpeg"], "type": "string", "default": "png"},
            "at": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
        },
        "required": ["name", "sizes"],
        "additionalProperties": False,
    }


def test_description_is_the_docstring_without_the_parameters() -> None:
    summary, parameters = describe(sample)
    assert summary == "Do a thing to it. format of the day is a sentence, no parameter."
    assert set(parameters) == {"name", "limit"}


def test_typed_dict_becomes_an_object() -> None:
    assert of_type(Answer) == {
        "type": "object",
        "properties": {
            "status": {"enum": ["success", "error"], "type": "string"},
            "line": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["status"],
    }


def test_free_and_mapped_values() -> None:
    assert of_type(dict[str, Any]) == {"type": "object"}
    assert of_type(dict[str, int]) == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert of_type(list[Any]) == {"type": "array", "items": {}}


def test_a_type_without_a_schema_is_refused_when_the_tool_is_made() -> None:
    with pytest.raises(TypeError, match="no JSON Schema for <class 'bytes'>"):
        of_type(bytes)
