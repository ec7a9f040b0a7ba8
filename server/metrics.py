# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of `GET /metrics`, in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ("Metrics",)

#: Upper bounds of the histogram's buckets, in seconds: a call takes from a tenth of a millisecond to minutes.
_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0)


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
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "mcp_bridge_tool_calls", "Finished tool calls", ("tool", "outcome"), registry=self._registry
        )
        self._seconds = Histogram(
            "mcp_bridge_tool_call_seconds",
            "From the arrival of a tool call to its answer",
            ("tool",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._refused = Counter(
            "mcp_bridge_refused",
            "Requests turned away by Host, Origin or token",
            ("status",),
            registry=self._registry,
        )
        self._main_thread = Histogram(
            "mcp_bridge_main_thread_seconds",
            "For how long a piece of work had Blender's main thread",
            ("work",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        # Cached: prometheus_client looks up each of a call's three children under a lock, by the text of its labels.
        self._calls_of = cache(self._calls.labels)
        self._seconds_of = cache(self._seconds.labels)
        self._main_thread_of = cache(self._main_thread.labels)
        depth = Gauge(
            "mcp_bridge_queue_depth", "Calls waiting for Blender's main thread", registry=self._registry
        )
        depth.set_function(queue_depth)
        open_now = Gauge("mcp_bridge_connections", "Open connections", registry=self._registry)
        open_now.set_function(connections)
        for name, about, counts in (
            ("processes", "Confined processes, by what became of them", processes),
            ("spans", "Spans of traces, by what became of them", spans),
        ):
            gauge = Gauge(f"mcp_bridge_{name}", about, ("what",), registry=self._registry)
            for what in counts():
                gauge.labels(what).set_function(partial(_count, counts, what))

    def tool_called(self, tool: str, seconds: float, *, failed: bool) -> None:
        """Count one finished call; `tool` must be the name of a tool that exists."""
        self._calls_of(tool, "error" if failed else "success").inc()
        self._seconds_of(tool).observe(seconds)

    def on_main_thread(self, work: str, seconds: float) -> None:
        """Count one piece of work of the main thread, by its label. Any thread."""
        self._main_thread_of(work).observe(seconds)

    def refused(self, status: int) -> None:
        """Count one refused request, by its HTTP status."""
        self._refused.labels(str(status)).inc()

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)


def _count(counts: Callable[[], Mapping[str, int]], what: str) -> float:
    return counts()[what]
