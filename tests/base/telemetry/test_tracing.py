# SPDX-License-Identifier: GPL-3.0-or-later
"""One request can be followed from the client's trace through queue, log and journal."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from bl_ext.user_default.mcp_bridge.base import journal, main_thread
from bl_ext.user_default.mcp_bridge.base.telemetry import logs, tracing

from support.clients.tool_calls import Tools

T = TypeVar("T")
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def alone(do: Callable[[], T]) -> T:
    """Without leaving a trace in the tests that follow."""
    return contextvars.copy_context().run(do)


@pytest.mark.parametrize("more", ["00", "01"])
def test_the_clients_trace_goes_on_with_a_span_of_its_own(more: str) -> None:
    trace = alone(lambda: tracing.begin(f"00-{TRACE}-{PARENT}-{more}", 7))
    assert trace.trace_id == TRACE
    assert trace.span_id not in ("", PARENT)
    assert trace.rpc_id == 7


@pytest.mark.parametrize(
    "broken",
    [
        None,
        5,
        "",
        "nonsense",
        f"ff-{TRACE}-{PARENT}-00",
        f"00-{'0' * 32}-{PARENT}-00",
        f"00-{TRACE}-{'0' * 16}-00",
        f"00-{TRACE.upper()}-{PARENT}-00",
        f"00-{TRACE}-{PARENT}-00-more",
        f"00-{TRACE}-{PARENT}-00\n",
    ],
)
def test_a_broken_one_begins_another(broken: Any) -> None:
    trace = alone(lambda: tracing.begin(broken, None))
    assert trace.trace_id != TRACE
    assert len(trace.trace_id) == 32


def test_outside_of_a_request_there_is_no_trace() -> None:
    assert contextvars.Context().run(tracing.fields) == {}


def test_it_goes_along_into_threads_and_the_main_threads_queue() -> None:
    async def request() -> tuple[Any, Any]:
        tracing.begin(f"00-{TRACE}-{PARENT}-00", 1)
        work = main_thread.run(tracing.fields)
        return await asyncio.to_thread(tracing.fields), work

    main_thread.start()
    in_thread, work = alone(lambda: asyncio.run(request()))
    main_thread.pump(lambda: not work.done())
    assert in_thread["trace_id"] == work.result()["trace_id"] == TRACE


def test_log_and_journal_say_it(tmp_path: Path) -> None:
    def write() -> tuple[dict[str, Any], dict[str, Any]]:
        tracing.begin(f"00-{TRACE}-{PARENT}-00", "abc")
        record = logging.LogRecord("x", logging.INFO, "", 1, "hello", (), None)
        return json.loads(logs._JsonFormatter().format(record)), journal.Journal(tmp_path).write("something")

    logged, kept = alone(write)
    assert (logged["trace_id"], logged["request_id"], kept["trace_id"]) == (TRACE, "abc", TRACE)
    assert logged["span_id"] == kept["span_id"]
    assert journal.verify(iter((tmp_path / journal.FILE_NAME).read_text().splitlines())) == []


def test_a_call_by_a_real_client_is_in_the_journal_and_the_metrics(
    empty_scene: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path))
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    monkeypatch.setenv("BLENDER_MCP_FOLDERS", str(tmp_path))
    tools = Tools()
    try:
        tools.meta = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        tools("save_copy", path="a.blend")
        figures = tools._bridge.app._metrics().decode()
    finally:
        tools.stop()
    lines = [json.loads(line) for line in (tmp_path / journal.FILE_NAME).read_text().splitlines()]
    [saved] = [line for line in lines if line["event"] == "file_saved"]
    assert (saved["trace_id"], saved["client"]) == (TRACE, "local")
    assert 'mcp_bridge_main_thread_seconds_count{work="the file"}' in figures
    assert 'mcp_bridge_tool_calls_total{outcome="success",tool="save_copy"} 1.0' in figures
