# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of `GET /metrics`, in the Prometheus text format.

A call only adds to numbers; `prometheus_client` is loaded when somebody asks for the text. Any thread may add: Python
does not switch threads within the `+=` of a number.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import Metric

__all__ = ("Metrics",)

#: Upper bounds of the histogram's buckets, in seconds: a call takes from a tenth of a millisecond to minutes.
_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0)


class _Durations:
    """How many durations (seconds) lay in each bucket, and their sum."""

    __slots__ = ("counts", "created", "sum")

    def __init__(self) -> None:
        self.created = time.time()
        self.counts = [0] * (len(_BUCKETS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(_BUCKETS, seconds)] += 1
        self.sum += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Return (upper bound, how many durations are not above it) for each bucket; the last has no bound."""
        bounds = (*map(str, _BUCKETS), "+Inf")
        return list(zip(bounds, map(float, accumulate(self.counts)), strict=True))


class _Count:
    """How often something happened, and since when that is counted (seconds since the epoch)."""

    __slots__ = ("created", "value")

    def __init__(self) -> None:
        self.created = time.time()
        self.value = 0


class Metrics:
    """The metrics of one running server. Each `GET /metrics` calls the functions."""

    def __init__(
        self,
        *,
        queue_depth: Callable[[], float],
        connections: Callable[[], float],
        processes: Callable[[], Mapping[str, int]] = dict,
        spans: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._queue_depth = queue_depth
        self._connections = connections
        self._processes = processes
        self._spans = spans
        self._calls: dict[tuple[str, bool], _Count] = {}
        self._seconds: dict[str, _Durations] = {}
        self._refused: dict[str, _Count] = {}
        self._main_thread: dict[str, _Durations] = {}

    def tool_called(self, tool: str, seconds: float, *, failed: bool) -> None:
        """Count one finished call; `tool` must be the name of a tool that exists."""
        key = (tool, failed)
        count = self._calls.get(key) or self._calls.setdefault(key, _Count())
        count.value += 1
        (self._seconds.get(tool) or self._seconds.setdefault(tool, _Durations())).add(seconds)

    def on_main_thread(self, work: str, seconds: float) -> None:
        """Count one piece of work of the main thread, by its label."""
        (self._main_thread.get(work) or self._main_thread.setdefault(work, _Durations())).add(seconds)

    def refused(self, status: int) -> None:
        """Count one refused request, by its HTTP status."""
        self._refused.setdefault(str(status), _Count()).value += 1

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def describe(self) -> list[Metric]:
        """Return nothing: without this method, `prometheus_client` would collect once more to learn the names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics. `prometheus_client` calls this when somebody asks for the text."""
        calls: dict[tuple[str, ...], _Count] = {
            (tool, "error" if failed else "success"): n for (tool, failed), n in self._calls.copy().items()
        }
        yield _counter("tool_calls", "Finished tool calls", ("tool", "outcome"), calls)
        yield _histogram(
            "tool_call_seconds", "From the arrival of a tool call to its answer", "tool", self._seconds
        )
        refused: dict[tuple[str, ...], _Count] = {(status,): n for status, n in self._refused.copy().items()}
        yield _counter("refused", "Requests turned away by Host, Origin or token", ("status",), refused)
        yield _histogram(
            "main_thread_seconds",
            "For how long a piece of work had Blender's main thread",
            "work",
            self._main_thread,
        )
        yield _gauge("queue_depth", "Calls waiting for Blender's main thread", self._queue_depth())
        yield _gauge("connections", "Open connections", self._connections())
        yield _gauges("processes", "Confined processes, by what became of them", self._processes())
        yield _gauges("spans", "Spans of traces, by what became of them", self._spans())


def _counter(
    name: str, about: str, labels: tuple[str, ...], counts: Mapping[tuple[str, ...], _Count]
) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"mcp_bridge_{name}", about, labels=labels)
    for values, count in counts.items():
        family.add_metric(values, float(count.value), count.created)
    return family


def _histogram(name: str, about: str, label: str, durations: dict[str, _Durations]) -> Metric:
    """Return a histogram with samples `_created`, which say since when it counts: the library's own family has none."""
    from prometheus_client import Metric

    name = f"mcp_bridge_{name}"
    metric = Metric(name, about, "histogram")
    for value, one in durations.copy().items():
        labels, buckets = {label: value}, one.buckets()
        for bound, count in buckets:
            metric.add_sample(f"{name}_bucket", {"le": bound, **labels}, count)
        metric.add_sample(f"{name}_count", labels, buckets[-1][1])
        metric.add_sample(f"{name}_sum", labels, one.sum)
        metric.add_sample(f"{name}_created", labels, one.created)
    return metric


def _gauge(name: str, about: str, value: float) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"mcp_bridge_{name}", about, value)


def _gauges(name: str, about: str, values: Mapping[str, int]) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"mcp_bridge_{name}", about, labels=("what",))
    for what, value in values.items():
        family.add_metric((what,), value)
    return family
