# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON-RPC errors of MCP. Codes: the MCP specification, "Error Codes", and JSON-RPC 2.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....approvals.caller import CannotBeAsked
from ....base.errors import BridgeError, ExternalServiceError, InvalidParamsError, LimitExceeded, PolicyError

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

#: Up to 2025-11-25 only; since 2026-07-28 a missing resource is INVALID_PARAMS.
RESOURCE_NOT_FOUND = -32002

HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

#: Our own code: one client has too many running requests. Outside the range reserved by JSON-RPC, as MCP requires.
SERVER_BUSY = -31000


class RpcError(Exception):
    """An error that becomes the JSON-RPC answer to a request. `data` must be JSON."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> dict[str, Any]:
        """Return the `error` member of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


def as_bridge_error(error: RpcError) -> BridgeError:
    """Return the error as a BridgeError, for clients that do not read JSON-RPC errors."""
    match error.code:
        case code if code in (PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS):
            return InvalidParamsError(error.message)
        case code if code == SERVER_BUSY:
            return LimitExceeded(error.message, limit="requests")
        case code if code == MISSING_CLIENT_CAPABILITY:
            return PolicyError(error.message, code="capability")
    return ExternalServiceError(error.message)


def invalid_params(message: str) -> RpcError:
    """Return the error for a request whose parameters do not fit; the message names the parameter."""
    return RpcError(INVALID_PARAMS, message)


def resource_not_found(uri: str, *, stateless: bool) -> RpcError:
    """Return the error for a missing resource. Its code changed with 2026-07-28."""
    code = INVALID_PARAMS if stateless else RESOURCE_NOT_FOUND
    return RpcError(code, f"Resource not found: {uri}", {"uri": uri})


def method_not_found(method: str) -> RpcError:
    """Return the error for a method that the request's revision does not have."""
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")


def unsupported_version(requested: str, supported: Sequence[str]) -> RpcError:
    """Return the error for a revision that this server does not support without a session."""
    message = f"Unsupported protocol version {requested!r}; supported: {', '.join(supported)}"
    return RpcError(UNSUPPORTED_VERSION, message, {"supported": list(supported), "requested": requested})


class MissingCapability(RpcError, CannotBeAsked):
    """Tells that the client did not declare a needed capability; `required` is a ClientCapabilities."""

    def __init__(self, required: Mapping[str, Any]) -> None:
        names = ", ".join(required)
        super().__init__(
            MISSING_CLIENT_CAPABILITY,
            f"This needs a client that offers: {names}",
            {"requiredCapabilities": dict(required)},
        )
