# SPDX-License-Identifier: GPL-3.0-or-later
"""Spans on their way to a collector: their form, and that the work they tell of never waits for them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.base.telemetry import otlp
from bl_ext.user_default.mcp_bridge.base.telemetry.otlp import Counts, Exporter, encode
from bl_ext.user_default.mcp_bridge.base.telemetry.tracing import Span

from support.bridges.live import until

TRACE, SELF, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
RESOURCE = {"service.name": "mcp_bridge", "service.version": "1.2.3", "process.pid": 7}


def _span(number: int = 0) -> Span:
    return Span(
        "tools/call look", "server", TRACE, SELF, PARENT, 1_700_000_000_000_000_001, 10**18, {"n": number}
    )


class Collector:
    """Takes what is sent; `gate` holds it up while it is clear."""

    def __init__(self, error: str = "", rejected: int = 0) -> None:
        self.messages: list[bytes] = []
        self.gate = threading.Event()
        self.gate.set()
        self._error, self._rejected = error, rejected

    def send(self, body: bytes, broken_off: threading.Event) -> int:
        self.messages.append(body)
        while not self.gate.wait(0.01):
            if broken_off.is_set():
                raise ExternalServiceError("broken off")
        if self._error:
            raise ExternalServiceError(self._error)
        return self._rejected

    def sizes(self) -> list[int]:
        return [len(json.loads(each)["resourceSpans"][0]["scopeSpans"][0]["spans"]) for each in self.messages]


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.gate.set()


def test_the_form_is_that_of_the_protocol() -> None:
    failed = Span("run script", "internal", TRACE, SELF, "", 1, 2, {"level": "math", "on": True, "part": 0.5})
    failed.fail("HandlerError")
    assert json.loads(encode([_span(3), failed], RESOURCE)) == {
        "resourceSpans": [
            {
                "resource": {
                    "attributes": [
                        {"key": "service.name", "value": {"stringValue": "mcp_bridge"}},
                        {"key": "service.version", "value": {"stringValue": "1.2.3"}},
                        {"key": "process.pid", "value": {"intValue": "7"}},
                    ]
                },
                "scopeSpans": [
                    {
                        "scope": {"name": "mcp_bridge", "version": "1.2.3"},
                        "spans": [
                            {
                                "traceId": TRACE,
                                "spanId": SELF,
                                "parentSpanId": PARENT,
                                "name": "tools/call look",
                                "kind": 2,
                                "startTimeUnixNano": "1700000000000000001",
                                "endTimeUnixNano": "1000000000000000000",
                                "attributes": [{"key": "n", "value": {"intValue": "3"}}],
                            },
                            {
                                "traceId": TRACE,
                                "spanId": SELF,
                                "name": "run script",
                                "kind": 1,
                                "startTimeUnixNano": "1",
                                "endTimeUnixNano": "2",
                                "attributes": [
                                    {"key": "level", "value": {"stringValue": "math"}},
                                    {"key": "on", "value": {"boolValue": True}},
                                    {"key": "part", "value": {"doubleValue": 0.5}},
                                    {"key": "error.type", "value": {"stringValue": "HandlerError"}},
                                ],
                                "status": {"code": 2},
                            },
                        ],
                    }
                ],
            }
        ]
    }


def test_what_waits_is_sent_together_after_a_while(collector: Collector) -> None:
    exporter = Exporter(collector.send, RESOURCE, every_s=0.1)
    for number in range(5):
        exporter.add(_span(number))
    until(lambda: exporter.counts == Counts(exported=5))
    assert sum(collector.sizes()) == 5
    exporter.close()


def test_many_are_sent_at_once_and_in_parts(collector: Collector) -> None:
    exporter = Exporter(collector.send, RESOURCE, every_s=3600)
    for number in range(otlp.MOST_AT_ONCE + 5):
        exporter.add(_span(number))
    until(lambda: sum(collector.sizes()) >= otlp.MOST_AT_ONCE)
    exporter.close()
    assert max(collector.sizes()) == otlp.MOST_AT_ONCE
    assert exporter.counts == Counts(exported=otlp.MOST_AT_ONCE + 5)


def test_closing_sends_what_is_left(collector: Collector) -> None:
    exporter = Exporter(collector.send, RESOURCE, every_s=3600)
    exporter.add(_span())
    exporter.close()
    assert (collector.sizes(), exporter.counts) == ([1], Counts(exported=1))


def test_a_collector_that_does_not_answer_holds_nobody_up_and_what_is_too_much_is_dropped(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "LAST_S", 0.2)
    collector.gate.clear()
    exporter = Exporter(collector.send, RESOURCE, every_s=0.01)
    exporter.add(_span())
    until(lambda: collector.messages)
    longest = 0.0
    for number in range(otlp.MOST_WAITING + 100):
        begin = time.perf_counter()
        exporter.add(_span(number))
        longest = max(longest, time.perf_counter() - begin)
    assert longest < 5  # seconds: it waited for nothing
    assert exporter.counts == Counts(dropped=100)
    begin = time.monotonic()
    exporter.close()
    assert time.monotonic() - begin < 30
    assert exporter.counts == Counts(dropped=100, failed=otlp.MOST_WAITING + 1)


def test_failures_are_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    collector = Collector("nobody listens")
    exporter = Exporter(collector.send, RESOURCE, every_s=0.01)
    for count in (1, 2, 3):
        exporter.add(_span())
        until(lambda count=count: exporter.counts.failed == count)
    exporter.close()
    warned = [record for record in caplog.records if record.levelname == "WARNING"]
    assert [record.getMessage() for record in warned] == ["traces are not exported: nobody listens"]


def test_what_the_collector_rejects_is_counted_as_failed() -> None:
    collector = Collector(rejected=2)
    exporter = Exporter(collector.send, RESOURCE, every_s=3600)
    for number in range(5):
        exporter.add(_span(number))
    exporter.close()
    assert exporter.counts == Counts(exported=3, failed=2)
