# SPDX-License-Identifier: GPL-3.0-or-later
"""Trace each request and time its parts: W3C trace context, kept in `contextvars`.

The dispatcher begins a trace for each request. Tasks, `asyncio.to_thread` and the main thread's queue copy it, so that
logs and journal can be matched with the client's own. While a receiver is set (`collect`), each request and each
`span` inside it is timed. Source: https://www.w3.org/TR/trace-context/.
"""

from __future__ import annotations

import random
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
    "begin_request",
    "collect",
    "end",
    "fields",
    "rpc_id",
    "span",
    "timed",
)

T = TypeVar("T")

Attribute = str | bool | int | float
Kind = Literal["internal", "server", "client"]

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(slots=True)
class Trace:
    """The ids of a request: `span_id` is the current span's, `parent_id` that of the outer span or of the client's.

    `rpc_id` is the JSON-RPC id that the client gave the request. The client decides whether a trace is `sampled`; a
    trace that is not is never collected. Nobody changes a trace; it is not frozen, since each request makes one, and to
    make a frozen one takes three times as long.
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
    #: `time.perf_counter_ns()` at the beginning: the end follows from it, since somebody may set the clock meanwhile.
    clock_ns: int = field(default_factory=time.perf_counter_ns)

    def fail(self, error: str) -> None:
        """Mark the span as failed; `error` is the name of a kind of error, never its message."""
        self.failed = True
        self.attributes["error.type"] = error


#: Ids have to differ, and nobody has to be unable to guess them: a call of the system for each would cost more.
_random = random.Random(secrets.randbits(256))  # noqa: S311
_current: ContextVar[Trace | None] = ContextVar("mcp_bridge_trace", default=None)
_receiver: Callable[[Span], None] | None = None


def collect(receiver: Callable[[Span], None] | None) -> None:
    """Pass every span that ends to `receiver`, on any thread; it must return quickly. None ends this."""
    global _receiver
    _receiver = receiver


def begin(traceparent: object, rpc_id: str | int | None) -> Trace:
    """Continue the trace that the client named, or begin a new one if it named none or an invalid one."""
    fresh = _ids()
    trace_id, parent_id, sampled = _parsed(traceparent) or (fresh[:32], "", True)
    trace = Trace(trace_id, fresh[32:], rpc_id, parent_id, sampled)
    _current.set(trace)
    return trace


def begin_request(
    traceparent: object,
    rpc_id: str | int | None,
    about: Callable[[], tuple[str, Mapping[str, Attribute]]],
) -> Span | None:
    """Call `begin` and begin the span of a request, with the name and attributes of `about`; give it to `end`.

    Returns None if no receiver is set or the client does not want this trace.
    """
    trace = begin(traceparent, rpc_id)
    if _receiver is None or not trace.sampled:
        return None
    return _span(trace, *about(), kind="server")


def end(span: Span | None) -> None:
    """End a span, and pass it to the receiver; None is no span."""
    if span is None:
        return
    span.end_ns = span.start_ns + time.perf_counter_ns() - span.clock_ns
    receiver = _receiver
    if receiver is not None:
        receiver(span)


@contextmanager
def span(name: str, **attributes: Attribute) -> Iterator[Span | None]:
    """Time a part of the current request; yields the span, or None if no receiver is set."""
    around = _current.get()
    if _receiver is None or around is None:
        yield None
        return
    trace = replace(around, span_id=_ids()[:16], parent_id=around.span_id)
    found = _span(trace, name, attributes, kind="internal") if trace.sampled else None
    token = _current.set(trace)
    try:
        yield found
    except Exception as error:
        if found is not None:
            found.fail(type(error).__name__)
        raise
    finally:
        _current.reset(token)
        end(found)


def timed(name: str, do: Callable[[], T]) -> T:
    """Return the result of `do`, timed as a part of the current request."""
    if _receiver is None:
        return do()
    with span(name):
        return do()


def _span(trace: Trace, name: str, attributes: Mapping[str, Attribute], *, kind: Kind) -> Span:
    ids = trace.trace_id, trace.span_id, trace.parent_id
    return Span(name, kind, *ids, time.time_ns(), attributes=dict(attributes))


def fields() -> dict[str, str]:
    """The fields that link a record to its request; empty outside a request."""
    trace = _current.get()
    return {} if trace is None else {"trace_id": trace.trace_id, "span_id": trace.span_id}


def rpc_id() -> str | int | None:
    """The JSON-RPC id of the current request."""
    trace = _current.get()
    return None if trace is None else trace.rpc_id


def _ids() -> str:
    """Return a new trace id of 32 characters and a new span id of 16."""
    return f"{_random.getrandbits(192):048x}"


def _parsed(traceparent: object) -> tuple[str, str, bool] | None:
    """Trace id, parent id and whether the trace is sampled; None if the header is invalid."""
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None:
        return None
    version, trace_id, parent_id, flags, more = found.groups()
    broken = version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(parent_id, 16)
    return None if broken else (trace_id, parent_id, bool(int(flags, 16) & 1))
