# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from bl_ext.user_default.mcp_bridge.server.metrics import Metrics


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
