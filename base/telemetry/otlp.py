# SPDX-License-Identifier: GPL-3.0-or-later
"""Send spans as OTLP/HTTP JSON, in batches on a separate thread, so that sending never delays the traced work.

Source of the format: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding and `trace.proto`.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import BridgeError
from ..process import threads
from .tracing import Attribute, Span

__all__ = ("Counts", "Exporter", "encode")

#: Spans that may wait, and spans that one message has at most.
MOST_WAITING, MOST_AT_ONCE = 2048, 512
#: Seconds between two messages, and seconds that the last message may take when the exporter closes.
EVERY_S, LAST_S = 5.0, 2.0

_KINDS = {"internal": 1, "server": 2, "client": 3}
_ERROR = 2

_log = logging.getLogger(__name__)

#: Sends one message and returns how many of its spans the receiver rejected. Raises BridgeError. Setting the event
#: ends it early.
Send = Callable[[bytes, threading.Event], int]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of spans: `exported`; `dropped` because too many waited; `failed` because they could not be sent."""

    exported: int = 0
    dropped: int = 0
    failed: int = 0


class Exporter:
    """Takes spans from any thread and sends them. `close` sends those that still wait."""

    def __init__(
        self, send: Send, resource: Mapping[str, Attribute], *, every_s: float | None = None
    ) -> None:
        self._send = send
        self._resource = resource
        self._every_s = EVERY_S if every_s is None else every_s
        self._waiting: deque[Span] = deque()
        self._counts = Counts()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._broken_off = threading.Event()
        self._complained = False
        self._thread = threads.start(self._work, name="traces")

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        return self._counts

    def add(self, span: Span) -> None:
        """Queue a span for sending. Never blocks: while too many spans wait, it drops new ones and counts them."""
        if len(self._waiting) >= MOST_WAITING:
            self._count(dropped=1)
            return
        self._waiting.append(span)
        if len(self._waiting) >= MOST_AT_ONCE:
            self._wake.set()

    def close(self) -> None:
        """Send the waiting spans within `LAST_S` seconds; count those that remain as failed."""
        self._closing = True
        self._wake.set()
        self._thread.join(LAST_S)
        self._broken_off.set()
        self._thread.join(LAST_S)
        self._count(failed=len(self._waiting))
        self._waiting.clear()

    def _work(self) -> None:
        while not self._broken_off.is_set():
            closing = self._closing
            self._wake.wait(0.0 if closing else self._every_s)
            self._wake.clear()
            while self._waiting and not self._broken_off.is_set():
                self._send_some()
            if closing:
                return

    def _send_some(self) -> None:
        spans = [self._waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(self._waiting)))]
        try:
            rejected = self._send(encode(spans, self._resource), self._broken_off)
        except BridgeError as error:
            self._count(failed=len(spans))
            # Only the first failure is a warning: an address where no server listens must not fill the log.
            _log.log(
                logging.DEBUG if self._complained else logging.WARNING, "traces are not exported: %s", error
            )
            self._complained = True
        else:
            rejected = min(rejected, len(spans))
            self._count(exported=len(spans) - rejected, failed=rejected)
            self._complained = False

    def _count(self, *, exported: int = 0, dropped: int = 0, failed: int = 0) -> None:
        with self._lock:
            now = self._counts
            self._counts = replace(
                now,
                exported=now.exported + exported,
                dropped=now.dropped + dropped,
                failed=now.failed + failed,
            )


def encode(spans: Sequence[Span], resource: Mapping[str, Attribute]) -> bytes:
    """An `ExportTraceServiceRequest` in JSON: ids in hexadecimal, 64-bit numbers as texts."""
    scope = {"name": "mcp_bridge", "version": str(resource.get("service.version", ""))}
    message = {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": scope, "spans": [_span(span) for span in spans]}],
            }
        ]
    }
    return json.dumps(message, separators=(",", ":")).encode()


def _span(span: Span) -> dict[str, Any]:
    found: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes(span.attributes),
    }
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    if span.failed:
        found["status"] = {"code": _ERROR}
    return found


def _attributes(attributes: Mapping[str, Attribute]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Attribute) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
    return {"stringValue": value}
