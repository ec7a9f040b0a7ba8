# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the headers of Streamable HTTP in 2026-07-28: they must match the body, or the request is refused.

Source: MCP 2026-07-28, "Streamable HTTP", "Request Metadata" and "Server Validation".
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..protocol.features import Features
from ..protocol.messages.content import Json
from ..protocol.messages.errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    SERVER_BUSY,
    RpcError,
)
from ..protocol.messages.revisions import PROTOCOL_VERSION, STATELESS

#: Method -> the parameter that `Mcp-Name` repeats.
_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_PARAM = "mcp-param-"

_STATUS = {METHOD_NOT_FOUND: 404, INTERNAL_ERROR: 500, SERVER_BUSY: 503}


def status(message: Json) -> int:
    """Return the HTTP status for the answer to a stateless request."""
    error = message.get("error")
    return 200 if error is None else _STATUS.get(error["code"], 400)


def is_stateless(headers: Mapping[str, str], message: object) -> bool:
    """Return whether a POST is of the stateless era: by its header, or by the envelope in the body."""
    if headers.get("mcp-protocol-version") in STATELESS:
        return True
    return _meta_version(message) is not None


def check(headers: Mapping[str, str], message: Json, features: Features) -> RpcError | None:
    """Return the error in a stateless request's headers, or None. Header names are in lower case."""
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    method = message.get("method")
    problems = [
        _compare("MCP-Protocol-Version", headers, _meta_version(message)),
        _compare("Mcp-Method", headers, method),
    ]
    source = _NAMED.get(str(method))
    if source:
        problems.append(_compare("Mcp-Name", headers, params.get(source), encoded=True))
    if method == "tools/call":
        problems.extend(_parameters(headers, params, features))
    return next((problem for problem in problems if problem), None)


def mirrored(schema: Json) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Iterate over the `x-mcp-header` names of an input schema, each with the path of its argument."""
    for name, property_schema in (schema.get("properties") or {}).items():
        if not isinstance(property_schema, dict):
            continue
        if "x-mcp-header" in property_schema:
            yield property_schema["x-mcp-header"], (name,)
        for header, path in mirrored(property_schema):
            yield header, (name, *path)


def _parameters(headers: Mapping[str, str], params: Json, features: Features) -> Iterable[RpcError | None]:
    tool = features.tools.get(str(params.get("name")))
    if tool is None:
        return
    for header, path in mirrored(tool.input_schema):
        value: Any = params.get("arguments")
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            if _PARAM + header.lower() in headers:
                yield _mismatch(f"Mcp-Param-{header}", "is set, but the argument is not there")
        else:
            yield _compare(f"Mcp-Param-{header}", headers, value, encoded=True)


def _compare(
    header: str, headers: Mapping[str, str], expected: object, *, encoded: bool = False
) -> RpcError | None:
    if expected is None or isinstance(expected, (dict, list)):
        return None  # the body itself is wrong; its own check gives a better message
    value = headers.get(header.lower())
    if value is None:
        return _mismatch(header, "is required")
    if not all(character == "\t" or " " <= character <= "~" for character in value):
        return _mismatch(header, "holds characters that a header may not have")
    if encoded:
        decoded = _decoded(value)
        if decoded is None:
            return _mismatch(header, "is not valid Base64")
        value = decoded
    if _same(value, expected):
        return None
    return _mismatch(header, f"{value[:80]!r} does not match the body's {str(expected)[:80]!r}")


def _same(value: str, expected: object) -> bool:
    if isinstance(expected, bool):
        return value == ("true" if expected else "false")
    if isinstance(expected, (int, float)):
        try:
            return float(value) == expected
        except ValueError:
            return False
    return value == expected


def _decoded(value: str) -> str | None:
    """Return the decoded value of `=?base64?…?=`; any other value unchanged; None if the encoding is invalid."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _mismatch(header: str, what: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, f"Header mismatch: {header} {what}")


def _meta_version(message: object) -> Any:
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
