# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON-RPC 2.0 as MCP restricts it: no batches, no null ids, parameters by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from .content import Json
from .errors import RpcError


def problem(message: Json) -> str | None:
    """Return the reason why a message is no valid JSON-RPC message, or None."""
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "method" in message:
        if not isinstance(message["method"], str):
            return "method must be a string"
        if "id" in message and not is_id(message["id"]):
            return "id must be a string or an integer"
        return None
    if "id" not in message or ("result" in message) == ("error" in message):
        return "neither a request, a notification nor an answer"
    return None


def usable_id(message: Json) -> str | int | None:
    """Return the id for an error answer; None if it could be confused with that of another request."""
    found = message.get("id")
    return found if "method" in message and is_id(found) else None


def is_id(value: object) -> TypeGuard[str | int]:
    """Return whether a value can be the id of a request."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def error(request_id: str | int | None, reason: RpcError) -> Json:
    """Return an error answer; without an id if it is unknown, as MCP requires."""
    answer: Json = {"jsonrpc": "2.0", "error": reason.as_json()}
    if request_id is not None:
        answer["id"] = request_id
    return answer


def notification(method: str, params: Mapping[str, Any] | None = None) -> Json:
    """Return a notification."""
    message: Json = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message
