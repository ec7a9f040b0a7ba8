# SPDX-License-Identifier: GPL-3.0-or-later
"""Which request something is done for: W3C trace context, carried along by `contextvars`.

The dispatcher begins a trace with each request; tasks, `asyncio.to_thread` and the main thread's queue take it along,
so that logs and journal can be put together with the client's own. Source: https://www.w3.org/TR/trace-context/.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ("Trace", "begin", "fields", "rpc_id")

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(frozen=True, slots=True)
class Trace:
    """`span_id` is this request's own; `rpc_id` the JSON-RPC id that its client gave it."""

    trace_id: str
    span_id: str
    rpc_id: str | int | None = None


_current: ContextVar[Trace | None] = ContextVar("mcp_bridge_trace", default=None)


def begin(traceparent: object, rpc_id: str | int | None) -> Trace:
    """Go on with the trace that the client named, or begin one where it named none or a broken one."""
    fresh = secrets.token_hex(24)  # both ids at once: the system is asked for randomness with each request
    trace = Trace(_trace_id(traceparent) or fresh[:32], fresh[32:], rpc_id)
    _current.set(trace)
    return trace


def fields() -> dict[str, str]:
    """What a record says of the request that it belongs to; empty outside of one."""
    trace = _current.get()
    return {} if trace is None else {"trace_id": trace.trace_id, "span_id": trace.span_id}


def rpc_id() -> str | int | None:
    """The JSON-RPC id of the request under way."""
    trace = _current.get()
    return None if trace is None else trace.rpc_id


def _trace_id(traceparent: object) -> str:
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None:
        return ""
    version, trace_id, parent_id, _, more = found.groups()
    broken = version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(parent_id, 16)
    return "" if broken else trace_id
