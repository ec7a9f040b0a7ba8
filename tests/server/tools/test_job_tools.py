# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs by tools: for clients that know no tasks."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base import jobs
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult, image, tool_result
from bl_ext.user_default.mcp_bridge.server.protocol.messages.validation import Check
from bl_ext.user_default.mcp_bridge.server.tools import job_tools
from bl_ext.user_default.mcp_bridge.server.tools.registry import make

from support.bridges.protocol import ALICE, BOB, Client
from support.clients.tool_calls import outcome

TOOLS = {
    tool.name: tool for tool in map(make, (job_tools.get_job, job_tools.cancel_job, job_tools.list_jobs))
}


@dataclass
class Context:
    """Who asks."""

    client: Client = ALICE


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> jobs.Jobs:
    fresh = jobs.Jobs()
    monkeypatch.setattr(jobs, "registry", fresh)
    return fresh


def call(name: str, client: Client = ALICE, **arguments: Any) -> ToolResult:
    result: ToolResult = asyncio.run(outcome(TOOLS[name].handler(Context(client), arguments)))  # type: ignore[arg-type]
    if not result.is_error:
        schema = TOOLS[name].output_schema
        assert schema
        assert Check(schema)(result.structured) is None
    return result


def test_a_job_at_work(registry: jobs.Jobs) -> None:
    job = registry.begin("render", "Render", ALICE.id)
    job.report(3, 10, "Sample 3")
    result = call("get_job", job_id=job.id)
    assert result.structured == {
        "job_id": job.id,
        "kind": "render",
        "title": "Render",
        "state": "working",
        "progress": 3,
        "total": 10,
        "message": "Sample 3",
    }
    assert json.loads(result.content[0]["text"]) == result.structured


def test_results_of_tools_come_with_their_pictures(registry: jobs.Jobs) -> None:
    job = registry.begin("render", "Render", ALICE.id)
    job.complete(tool_result(ToolResult([image(b"png")], {"width": 10})))
    result = call("get_job", job_id=job.id)
    assert (result.structured["state"], result.structured["result"]) == ("completed", {"width": 10})
    assert result.content[1] == image(b"png")


@pytest.mark.parametrize(
    ("result", "shown"),
    [({"a": 1}, {"a": 1}), ({"content": [{"type": "text", "text": "done"}]}, "done"), (None, None)],
)
def test_other_results(registry: jobs.Jobs, result: Any, shown: Any) -> None:
    job = registry.begin("k", "t", ALICE.id)
    job.complete(result)
    assert call("get_job", job_id=job.id).structured["result"] == shown


def test_failures_are_told(registry: jobs.Jobs) -> None:
    job = registry.begin("k", "t", ALICE.id)
    job.fail("no camera")
    told = call("get_job", job_id=job.id).structured
    assert (told["state"], told["error"], told["message"]) == ("failed", "ExternalServiceError", "no camera")


def test_waiting_ends_with_the_job(registry: jobs.Jobs) -> None:
    job = registry.begin("k", "t", ALICE.id)
    threading.Timer(0.1, job.complete, ["done"]).start()
    begin = time.monotonic()
    assert call("get_job", job_id=job.id, wait_seconds=20).structured["result"] == "done"
    assert time.monotonic() - begin < 5
    other = registry.begin("k", "t", ALICE.id)
    assert call("get_job", job_id=other.id, wait_seconds=0.05).structured["state"] == "working"


def test_cancelling_reaches_the_work(registry: jobs.Jobs) -> None:
    job = registry.begin("k", "t", ALICE.id)
    assert call("cancel_job", job_id=job.id).structured["state"] == "cancelled"
    assert job.cancelled.is_set()
    assert call("cancel_job", job_id=job.id).structured["state"] == "cancelled"


def test_jobs_are_their_owners_alone(registry: jobs.Jobs) -> None:
    first, second = (registry.begin("k", title, ALICE.id) for title in ("one", "two"))
    assert [job["job_id"] for job in call("list_jobs").structured["jobs"]] == [second.id, first.id]
    assert call("list_jobs", BOB).structured == {"jobs": []}
    for name in ("get_job", "cancel_job"):
        result = call(name, BOB, job_id=first.id)
        assert result.is_error
        assert "There is no job" in result.content[0]["text"]
    assert not first.cancelled.is_set()
