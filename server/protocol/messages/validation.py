# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the arguments of a tool against its schema, with messages that name the field."""

from __future__ import annotations

from typing import Any

from ....base.similar_names import did_you_mean, quoted
from . import wire
from .content import Json


class Check:
    """One of our own JSON Schemas, compiled. It never changes a value.

    fastjsonschema writes Python for the schema and runs it: only schemas from our own sources may come here.
    Raises `fastjsonschema.JsonSchemaDefinitionException` for a broken schema.
    """

    def __init__(self, schema: Json) -> None:
        import fastjsonschema  # one of the server's libraries: loaded at the first call, not with the extension

        self._schema = schema
        self._known = schema.get("properties", {}).keys()
        self._error = fastjsonschema.JsonSchemaValueException
        self._validate = fastjsonschema.compile(schema, use_default=False)

    def __call__(self, value: Any) -> str | None:
        """Return what does not fit the schema, or None."""
        misnamed = _misnamed(self._schema, value) if isinstance(value, dict) else None
        if misnamed:
            return misnamed
        try:
            self._validate(value)
        except self._error as error:
            return _message(error)
        return None

    def fits_as_it_is(self, arguments: Json) -> bool:
        """Return whether `without_nulls` and `from_texts` would change nothing and the result fits.

        This answers for most calls, those whose arguments are single values under the schema's own names, in a tenth of
        the time. False says nothing about other arguments.
        """
        if not self._known >= arguments.keys() or not _PLAIN.issuperset(map(type, arguments.values())):
            return False
        try:
            self._validate(arguments)
        except self._error:
            return False
        return True


#: Types of values inside which there is nothing to decode.
_PLAIN = frozenset({str, int, float, bool})


def without_nulls(schema: Json, arguments: Json) -> Json:
    """Return the arguments without optional ones that are null: some clients fill in every parameter."""
    known, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name not in known or name in required or _admits_null(known[name])
    }


def from_texts(schema: Json, value: Any) -> Any:
    """Return the value with JSON texts decoded as strictly as messages, where the schema has an object and no text."""
    if isinstance(value, str) and schema.get("type") == "object":
        try:
            found = wire.decode(value)
        except wire.WireError:
            return value  # the check refuses it
        return from_texts(schema, found) if isinstance(found, dict) else value
    if isinstance(value, dict):
        known = schema.get("properties", {})
        return {name: from_texts(known.get(name, {}), each) for name, each in value.items()}
    if isinstance(value, list):
        return [from_texts(schema.get("items", {}), each) for each in value]
    return value


def _admits_null(schema: Json) -> bool:
    if "type" in schema:
        return "null" in (schema["type"] if isinstance(schema["type"], list) else [schema["type"]])
    return any(_admits_null(part) for part in schema["anyOf"]) if "anyOf" in schema else True


def _misnamed(schema: Json, value: Json) -> str | None:
    """Return one message about missing and unknown names: most often one is a misspelling of the other."""
    known = schema.get("properties", {})
    unknown = (
        [name for name in value if name not in known] if schema.get("additionalProperties") is False else []
    )
    missing = [name for name in schema.get("required", ()) if name not in value]
    problems = [f"{quoted(name)} is missing" for name in missing]
    problems += [f"there is no {quoted(name)}.{did_you_mean(name, known)}".rstrip(".") for name in unknown]
    if not problems:
        return None
    return f"{'; '.join(problems)} (parameters: {', '.join(known) or 'none'})"


def _message(error: Any) -> str:
    """Return the error's text, with `data.location[0] must be number` as `location[0]: must be number`."""
    error = _innermost(error)
    rest = error.message.removeprefix(error.name or "data").strip()
    field = (error.name or "data").removeprefix("data").removeprefix(".")
    return f"{field}: {rest}" if field else rest


def _innermost(error: Any) -> Any:
    """Return the error inside an optional value: for one that fits no alternative, the library gives no detail."""
    import fastjsonschema

    forms = (
        [form for form in error.rule_definition if form.get("type") != "null"]
        if error.rule == "anyOf"
        else []
    )
    if len(forms) != 1:
        return error
    try:
        fastjsonschema.compile(forms[0], use_default=False)(error.value, name_prefix=error.name)
    except fastjsonschema.JsonSchemaValueException as inner:
        return _innermost(inner)
    return error
