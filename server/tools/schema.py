# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes JSON Schema (2020-12) from a typed Python signature and its docstring.

The docstring's text up to the first blank-line-separated `parameter: …` line describes the tool; each line `parameter:
text` (continued by indented lines) describes that parameter. `Annotated[T, Bounds(...)]` adds limits.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

__all__ = ("Bounds", "Shown", "describe", "input_schema", "of_type")

Schema = dict[str, Any]

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
    dict: {"type": "object"},
    list: {"type": "array"},
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a number (`low`, `high`, inclusive), or of the length of a text or list (`shortest`, `longest`)."""

    low: float | None = None
    high: float | None = None
    shortest: int | None = None
    longest: int | None = None
    pattern: str | None = None

    def keywords(self, kind: str) -> Schema:
        """Return these limits as keywords for a schema of the type `kind`."""
        length = "Items" if kind == "array" else "Length"
        pairs = {
            "minimum": self.low,
            "maximum": self.high,
            f"min{length}": self.shortest,
            f"max{length}": self.longest,
            "pattern": self.pattern,
        }
        return {key: value for key, value in pairs.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Shown:
    """Another type that the list of tools shows for a parameter, which models of every provider can fill in.

    OpenAI's strict mode and Gemini know no alternatives, no untyped items and no objects without properties. The tool
    parses a text as JSON where the list shows an object as a text; it also accepts forms that the list does not show.
    """

    hint: Any


def of_type(hint: Any, *, shown: bool = False) -> Schema:
    """Return the schema of one type, as the tool accepts it or, with `shown`, as the list of tools shows it.

    Raises TypeError for a type without a schema.
    """
    if get_origin(hint) is Annotated and shown:
        for note in get_args(hint)[1:]:
            if isinstance(note, Shown):
                return of_type(note.hint, shown=True)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if is_typeddict(hint):
        return _of_typed_dict(hint, shown)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _of_annotated(args, shown)
    if origin in (NotRequired, Required):
        return of_type(args[0], shown=shown)
    if origin is Literal:
        return {"enum": list(args)} | ({"type": "string"} if all(isinstance(a, str) for a in args) else {})
    if origin in (Union, types.UnionType):
        # Never a list of types: not every client that passes a schema on to a model knows that form.
        return {"anyOf": [of_type(arg, shown=shown) for arg in args]}
    if origin is list:
        return {"type": "array", "items": of_type(args[0], shown=shown)}
    if origin is tuple and args[-1] is not Ellipsis and len(set(args)) == 1:
        items = of_type(args[0], shown=shown)
        return {"type": "array", "items": items, "minItems": len(args), "maxItems": len(args)}
    if origin is dict and args[0] is str:
        values = of_type(args[1], shown=shown)
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    raise TypeError(f"no JSON Schema for {hint!r}")


def _of_annotated(args: tuple[Any, ...], shown: bool) -> Schema:
    schema = of_type(args[0], shown=shown)
    for note in args[1:]:
        if isinstance(note, Bounds):
            # In `T | None` the limits hold for T.
            target = next((part for part in schema.get("anyOf", ()) if part.get("type") != "null"), schema)
            target.update(note.keywords(target["type"]))
    return schema


def _of_typed_dict(hint: Any, shown: bool) -> Schema:
    hints = get_type_hints(hint, include_extras=True)
    properties = {name: of_type(value, shown=shown) for name, value in hints.items()}
    schema: Schema = {"type": "object", "properties": properties}
    required = [name for name, value in hints.items() if _is_required(hint, name, value)]
    if required:
        schema["required"] = required
    return schema


def _is_required(typed_dict: Any, name: str, value: Any) -> bool:
    """Return whether a key is required: `__required_keys__` does not see NotRequired in postponed annotations."""
    return get_origin(value) is not NotRequired and name in typed_dict.__required_keys__


def describe(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return a function's docstring as (what it does, what each parameter means)."""
    names = set(inspect.signature(function).parameters)
    summary: list[str] = []
    parameters: dict[str, str] = {}
    last: str | None = None
    for line in inspect.cleandoc(function.__doc__ or "").splitlines():
        found = re.match(r"(\w+): (.+)", line)
        if found and found[1] in names:
            last = found[1]
            parameters[last] = found[2]
        elif last and line.startswith((" ", "\t")):
            parameters[last] += " " + line.strip()
        else:
            last = None
            summary.append(line)
    return re.sub(r"\s*\n\s*", " ", "\n".join(summary)).strip(), parameters


def input_schema(
    function: Callable[..., Any], *, context: bool = True, shown: bool = False, but: Collection[str] = ()
) -> Schema:
    """Return the schema of a tool's arguments; with `context`, the function's first parameter is the call's context.

    `shown` is that of `of_type`: then the schema has only what helps a model, and the server checks the rest. `but`
    names parameters to leave out. Raises TypeError for a parameter without a type, or of a type without a schema.
    """
    hints = get_type_hints(function, include_extras=True)
    _, texts = describe(function)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, parameter in list(inspect.signature(function).parameters.items())[int(context) :]:
        if name in but:
            continue
        if name not in hints or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{function.__name__}() has a parameter {name!r} without a type")
        schema = of_type(hints[name], shown=shown)
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        elif parameter.default is None:
            schema = _without_null(schema)
        else:
            schema["default"] = parameter.default
        if name in texts:
            schema["description"] = texts[name]
        properties[name] = schema
    result: Schema = {"type": "object", "properties": properties}
    if required:
        result["required"] = required
    return _without(result, _NOT_SHOWN) if shown else {**result, "additionalProperties": False}


#: Keywords that the list of tools leaves out: models rarely need them, and not every provider knows them.
_NOT_SHOWN = frozenset({"minLength", "maxLength", "pattern", "maxItems"})


def _without(schema: Schema, keywords: frozenset[str]) -> Schema:
    """Return the schema without these keywords, at any depth; a vector keeps its length."""
    vector = "minItems" in schema and schema.get("minItems") == schema.get("maxItems")
    left: Schema = {name: value for name, value in schema.items() if name not in keywords or vector}
    if "properties" in left:
        left["properties"] = {name: _without(each, keywords) for name, each in left["properties"].items()}
    if "items" in left:
        left["items"] = _without(left["items"], keywords)
    return left


def _without_null(schema: Schema) -> Schema:
    """Return the schema without null: None only means that the parameter is absent."""
    parts = [part for part in schema.get("anyOf", ()) if part != {"type": "null"}]
    return schema if not parts else parts[0] if len(parts) == 1 else {"anyOf": parts}
