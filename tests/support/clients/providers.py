# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of model providers for a tool's schema, as checks that raise an error for a schema that breaks them.

Sources: OpenAI, "Structured Outputs" (supported schemas, strict mode); Google, "Function calling" (`Schema` of the
Gemini API); Anthropic, "Tool use" (`input_schema`, any JSON Schema of type object).
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ("anthropic", "gemini", "openai_strict")

Schema = dict[str, Any]

_TYPES = {"string", "number", "integer", "boolean", "array", "object"}
_OPENAI = {
    "type", "description", "properties", "required", "items", "enum", "additionalProperties", "minimum", "maximum",
    "minItems", "maxItems", "multipleOf", "exclusiveMinimum", "exclusiveMaximum",
}  # fmt: skip
_GEMINI = {
    "type", "description", "properties", "required", "items", "enum", "nullable", "minimum", "maximum", "minItems",
    "maxItems", "default", "title", "format",
}  # fmt: skip


class NotTaken(Exception):
    """Tells that the provider refuses this schema; the message says where and why."""


def openai_strict(name: str, schema: Schema) -> Schema:
    """Return a function's parameters in strict mode: every member is required, an optional one may be null."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise NotTaken(f"{name}: not a function's name")
    return _strict(schema, name)


def _strict(schema: Schema, where: str) -> Schema:
    found = {key: value for key, value in schema.items() if key != "default"}
    unknown = found.keys() - _OPENAI
    if unknown:
        raise NotTaken(f"{where}: keywords {sorted(unknown)}")
    kind = found.get("type")
    if kind not in _TYPES:
        raise NotTaken(f"{where}: no single type")
    if kind == "object":
        if found.get("additionalProperties"):
            raise NotTaken(f"{where}: further members")
        if where.count(".") and not found.get("properties"):
            raise NotTaken(f"{where}: an object without members")
        required = found.get("required", [])
        members = {key: _strict(each, f"{where}.{key}") for key, each in found.get("properties", {}).items()}
        for key, each in members.items():
            if key not in required:
                each["type"] = [each["type"], "null"]
        return found | {"properties": members, "required": list(members), "additionalProperties": False}
    if kind == "array":
        return found | {"items": _strict(found.get("items", {}), f"{where}[]")}
    return found


def gemini(name: str, schema: Schema) -> Schema:
    """Return a declaration's parameters: one type each, enums of texts alone, objects with members."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", name):
        raise NotTaken(f"{name}: not a function's name")
    if not schema.get("properties"):
        return {}  # Gemini omits the schema of a function without parameters
    return _gemini(schema, name)


def _gemini(schema: Schema, where: str) -> Schema:
    unknown = schema.keys() - _GEMINI
    if unknown:
        raise NotTaken(f"{where}: fields {sorted(unknown)}")
    kind = schema.get("type")
    if kind not in _TYPES:
        raise NotTaken(f"{where}: no single type")
    if "enum" in schema and (
        kind != "string" or not all(isinstance(one, str) and one for one in schema["enum"])
    ):
        raise NotTaken(f"{where}: an enum of something else than texts")
    found = {**schema, "type": kind.upper()}
    if kind == "object":
        if not schema.get("properties"):
            raise NotTaken(f"{where}: an object without members")
        found["properties"] = {
            key: _gemini(each, f"{where}.{key}") for key, each in schema["properties"].items()
        }
    if kind == "array":
        if not schema.get("items"):
            raise NotTaken(f"{where}: items without a type")
        found["items"] = _gemini(schema["items"], f"{where}[]")
    return found


def anthropic(name: str, schema: Schema) -> Schema:
    """Return a tool's input schema, unchanged."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise NotTaken(f"{name}: not a tool's name")
    if schema.get("type") != "object" or {"anyOf", "oneOf", "allOf"} & schema.keys():
        raise NotTaken(f"{name}: not an object at the top")
    for key in schema.get("properties", {}):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", key):
            raise NotTaken(f"{name}.{key}: not a parameter's name")
    return schema
