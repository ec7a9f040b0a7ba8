# SPDX-License-Identifier: GPL-3.0-or-later
"""Names the span of a request in a trace, and marks it as failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.telemetry import tracing

if TYPE_CHECKING:
    from .protocol.context import Call
    from .protocol.features import Features

__all__ = ("about", "fail")


def about(call: Call, features: Features) -> tuple[str, dict[str, tracing.Attribute]]:
    """Return the span name and attributes by OpenTelemetry's conventions for MCP, without any data of the scene."""
    about: dict[str, tracing.Attribute] = {
        "mcp.method.name": call.method,
        "mcp_bridge.client": call.client.id,
    }
    if call.version:
        about["mcp.protocol.version"] = call.version
    if call.request_id is not None:
        about["jsonrpc.request.id"] = str(call.request_id)
    name = call.params.get("name")
    if call.method == "tools/call" and name in features.tools:
        about |= {"gen_ai.tool.name": name, "gen_ai.operation.name": "execute_tool"}
    elif call.method == "prompts/get" and name in features.prompts:
        about["gen_ai.prompt.name"] = name
    else:
        return call.method, about
    return f"{call.method} {name}", about


def fail(span: tracing.Span | None, error: str) -> None:
    """Mark the span as failed, if there is one; `error` is the kind of the error, without any data of the scene."""
    if span is not None:
        span.fail(error)
