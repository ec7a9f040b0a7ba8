# SPDX-License-Identifier: GPL-3.0-or-later
"""Which request something is done for, and how long its parts take: W3C trace context, carried along by `contextvars`.

The dispatcher begins a trace with each request; tasks, `asyncio.to_thread` and the main thread's queue take it along,
so that logs and journal can be put together with the client's own. Where somebody collects spans (`collect`), each
request and each `span` within it is timed. Source: https://www.w3.org/TR/trace-context/.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

__all__ = (
    "Attribute",
    "Kind",
    "Span",
    "Trace",
    "begin",
    "collect",
    "fields",
    "request",
    "rpc_id",
    "span",
    "timed",
)

T = TypeVar("T")

Attribute = str | bool | int | float
Kind = Literal["internal", "server", "client"]

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(frozen=True, slots=True)
class Trace:
    """`span_id` is the current span's own, `parent_id` that of the one around it, or of the client's, if it has one.

    `rpc_id` is the JSON-RPC id that the client gave the request. What is not `sampled` is not collected: the client
    says so.
    """

    trace_id: str
    span_id: str
    rpc_id: str | int | None = None
    parent_id: str = ""
    sampled: bool = True


@dataclass(slots=True)
class Span:
    """A piece of work with its beginning and end, in nanoseconds since the epoch."""

    name: str
    kind: Kind
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int = 0
    attributes: dict[str, Attribute] = field(default_factory=dict)
    failed: bool = False

    def fail(self, error: str) -> None:
        """Say that the work failed; `error` is the name of a kind of error, never its message."""
        self.failed = True
        self.attributes["error.type"] = error


_current: ContextVar[Trace | None] = ContextVar("mcp_bridge_trace", default=None)
_receiver: Callable[[Span], None] | None = None


def collect(receiver: Callable[[Span], None] | None) -> None:
    """Give every span that ends to `receiver`, from whichever thread, which it must not hold up; None ends this."""
    global _receiver
    _receiver = receiver


def begin(traceparent: object, rpc_id: str | int | None) -> Trace:
    """Go on with the trace that the client named, or begin one where it named none or a broken one."""
    fresh = secrets.token_hex(24)  # both ids at once: the system is asked for randomness with each request
    trace_id, parent_id, sampled = _parsed(traceparent) or (fresh[:32], "", True)
    trace = Trace(trace_id, fresh[32:], rpc_id, parent_id, sampled)
    _current.set(trace)
    return trace


@contextmanager
def request(
    traceparent: object, rpc_id: str | int | None, name: str, attributes: Mapping[str, Attribute]
) -> Iterator[Span | None]:
    """`begin`, and time what is done within this; gives the span, or None where nobody collects it."""
    trace = begin(traceparent, rpc_id)
    with _collected(trace, name, "server", attributes) as found:
        yield found


@contextmanager
def span(name: str, **attributes: Attribute) -> Iterator[Span | None]:
    """Time a part of the request under way; gives the span, or None where nobody collects it."""
    around = _current.get()
    if _receiver is None or around is None:
        yield None
        return
    trace = replace(around, span_id=secrets.token_hex(8), parent_id=around.span_id)
    token = _current.set(trace)
    try:
        with _collected(trace, name, "internal", attributes) as found:
            yield found
    finally:
        _current.reset(token)


def timed(name: str, do: Callable[[], T]) -> T:
    """What `do` gives, timed as a part of the request under way."""
    if _receiver is None:
        return do()
    with span(name):
        return do()


@contextmanager
def _collected(
    trace: Trace, name: str, kind: Kind, attributes: Mapping[str, Attribute]
) -> Iterator[Span | None]:
    receiver = _receiver
    if receiver is None or not trace.sampled:
        yield None
        return
    start, clock = time.time_ns(), time.perf_counter_ns()
    found = Span(
        name, kind, trace.trace_id, trace.span_id, trace.parent_id, start, attributes=dict(attributes)
    )
    try:
        yield found
    except Exception as error:
        found.fail(type(error).__name__)
        raise
    finally:
        found.end_ns = start + time.perf_counter_ns() - clock
        receiver(found)


def fields() -> dict[str, str]:
    """What a record says of the request that it belongs to; empty outside of one."""
    trace = _current.get()
    return {} if trace is None else {"trace_id": trace.trace_id, "span_id": trace.span_id}


def rpc_id() -> str | int | None:
    """The JSON-RPC id of the request under way."""
    trace = _current.get()
    return None if trace is None else trace.rpc_id


def _parsed(traceparent: object) -> tuple[str, str, bool] | None:
    """Trace, parent and whether it is sampled; None for what breaks the rules."""
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None:
        return None
    version, trace_id, parent_id, flags, more = found.groups()
    broken = version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(parent_id, 16)
    return None if broken else (trace_id, parent_id, bool(int(flags, 16) & 1))
