# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random
import re
from pathlib import Path

from bl_ext.user_default.mcp_bridge.server.metrics import _BUCKETS, Metrics
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from support.running import blender


def test_the_text_tells_calls_by_tool_and_outcome_and_what_waits_now() -> None:
    waiting = [3]
    metrics = Metrics(queue_depth=lambda: waiting[0], connections=lambda: 2)
    metrics.tool_called("get_scene_info", 0.0004, failed=False)
    metrics.tool_called("get_scene_info", 0.2, failed=True)
    metrics.refused(403)
    text = metrics.text().decode()
    assert 'mcp_bridge_tool_calls_total{outcome="success",tool="get_scene_info"} 1.0' in text
    assert 'mcp_bridge_tool_calls_total{outcome="error",tool="get_scene_info"} 1.0' in text
    assert 'mcp_bridge_tool_call_seconds_bucket{le="0.0005",tool="get_scene_info"} 1.0' in text
    assert 'mcp_bridge_refused_total{status="403"} 1.0' in text
    assert "mcp_bridge_queue_depth 3.0" in text
    waiting[0] = 5
    assert "mcp_bridge_queue_depth 5.0" in metrics.text().decode()


def test_confined_processes_are_counted_by_what_became_of_them() -> None:
    counts = {"running": 1, "timed_out": 0}
    metrics = Metrics(queue_depth=lambda: 0, connections=lambda: 0, processes=lambda: counts)
    assert 'mcp_bridge_processes{what="running"} 1.0' in metrics.text().decode()
    counts["timed_out"] = 2
    assert 'mcp_bridge_processes{what="timed_out"} 2.0' in metrics.text().decode()


def test_two_servers_do_not_mix_their_figures() -> None:
    first = Metrics(queue_depth=lambda: 0, connections=lambda: 0)
    second = Metrics(queue_depth=lambda: 0, connections=lambda: 0)
    first.refused(401)
    assert "mcp_bridge_refused_total{" not in second.text().decode()


def test_the_text_is_that_of_the_librarys_own_metrics() -> None:
    metrics = Metrics(queue_depth=lambda: 3, connections=lambda: 2, processes=lambda: {"running": 1})
    registry = CollectorRegistry()
    calls = Counter("mcp_bridge_tool_calls", "Finished tool calls", ("tool", "outcome"), registry=registry)
    about = "From the arrival of a tool call to its answer"
    seconds = Histogram("mcp_bridge_tool_call_seconds", about, ("tool",), buckets=_BUCKETS, registry=registry)
    about = "Requests turned away by Host, Origin or token"
    refused = Counter("mcp_bridge_refused", about, ("status",), registry=registry)
    about = "For how long a piece of work had Blender's main thread"
    main_thread = Histogram(
        "mcp_bridge_main_thread_seconds", about, ("work",), buckets=_BUCKETS, registry=registry
    )
    about = "Calls waiting for Blender's main thread"
    Gauge("mcp_bridge_queue_depth", about, registry=registry).set(3)
    Gauge("mcp_bridge_connections", "Open connections", registry=registry).set(2)
    about = "Confined processes, by what became of them"
    Gauge("mcp_bridge_processes", about, ("what",), registry=registry).labels("running").set(1)
    Gauge("mcp_bridge_spans", "Spans of traces, by what became of them", ("what",), registry=registry)
    chance = random.Random(1)
    for number in range(500):
        tool, took, failed = (
            chance.choice("ab"),
            chance.choice([*_BUCKETS, chance.random()]),
            chance.random() < 0.3,
        )
        metrics.tool_called(tool, took, failed=failed)
        calls.labels(tool, "error" if failed else "success").inc()
        seconds.labels(tool).observe(took)
        metrics.on_main_thread(f'the "{tool}"', took * 99)
        main_thread.labels(f'the "{tool}"').observe(took * 99)
        metrics.refused(400 + number % 3)
        refused.labels(str(400 + number % 3)).inc()
    assert _timeless(metrics.text()) == _timeless(generate_latest(registry))


def test_the_library_is_loaded_when_somebody_asks(tmp_path: Path) -> None:
    code = f"""
import sys
from {blender.EXTENSION}.server import bridge
running = bridge.start()
running.metrics.tool_called("look", 0.1, failed=False)
print("prometheus_client" in sys.modules)
running.metrics.text()
print("prometheus_client" in sys.modules)
bridge.stop()
"""
    printed = blender.run(code, blender.environment(tmp_path))
    assert [line for line in printed.splitlines() if line in ("True", "False")] == ["False", "True"]


def _timeless(text: bytes) -> str:
    """The text without the times since when something is counted."""
    return re.sub(r"(_created\{.*\}) .*", r"\1", text.decode())
