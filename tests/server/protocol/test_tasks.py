# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs look like tasks of the extension."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.jobs import Job, Jobs
from bl_ext.user_default.mcp_bridge.server.protocol import tasks
from bl_ext.user_default.mcp_bridge.server.protocol.tasks import TaskInputs

from support.bridges.protocol import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def jobs(clock: Clock) -> Jobs:
    return Jobs(clock)


def shown(jobs: Jobs, job_id: str, inputs: TaskInputs | None = None) -> dict[str, Any]:
    return tasks.detailed(jobs.get(job_id, "a"), inputs or TaskInputs())


def test_a_created_task(jobs: Jobs) -> None:
    job = jobs.begin("render", "Render", "a")
    assert tasks.created(jobs.get(job.id, "a")) == {
        "resultType": "task",
        "taskId": job.id,
        "status": "working",
        "createdAt": "1970-01-12T13:46:40.000Z",
        "lastUpdatedAt": "1970-01-12T13:46:40.000Z",
        "ttlMs": None,
        "pollIntervalMs": 1000,
        "statusMessage": "Render",
    }


def test_progress_is_the_status_message(jobs: Jobs, clock: Clock) -> None:
    job = jobs.begin("render", "Render", "a")
    clock.now += 1.5
    job.report(3, 10)
    assert shown(jobs, job.id)["statusMessage"] == "Render: 3 of 10"
    assert shown(jobs, job.id)["lastUpdatedAt"] == "1970-01-12T13:46:41.500Z"
    job.report(4, 10, "Sample 4")
    assert shown(jobs, job.id)["statusMessage"] == "Sample 4"


@pytest.mark.parametrize(
    ("result", "as_shown"),
    [
        ({"content": [], "isError": True}, {"content": [], "isError": True}),
        ({"a": 1}, {"content": [{"type": "text", "text": '{"a":1}'}], "structuredContent": {"a": 1}}),
    ],
)
def test_results(jobs: Jobs, clock: Clock, result: Any, as_shown: Any) -> None:
    job = jobs.begin("render", "Render", "a")
    clock.now += 2
    job.complete(result)
    task = shown(jobs, job.id)
    assert (task["status"], task["result"]) == ("completed", as_shown)
    assert task["ttlMs"] == 3_602_000  # kept for an hour after its end
    assert "error" not in task


def test_failures_are_json_rpc_errors(jobs: Jobs) -> None:
    job = jobs.begin("render", "Render", "a")
    job.fail("no camera")
    assert shown(jobs, job.id)["error"] == {"code": -32603, "message": "no camera"}
    other = jobs.begin("render", "Render", "a")
    other.fail("no camera", {"code": -32602, "message": "no camera"})
    task = shown(jobs, other.id)
    assert task["error"]["code"] == -32602
    assert "result" not in task


def test_a_key_is_never_used_twice() -> None:
    inputs = TaskInputs()
    given: list[Any] = []
    question = {"method": "roots/list"}
    assert inputs.ask("j", "k", question, given.append) == "k"
    inputs.answer("j", "k", {"roots": []})
    assert inputs.ask("j", "k", question, given.append) == "k-2"
    assert inputs.ask("other", "k", question, given.append) == "k"
    assert inputs.pending("j") == {"k-2": question}
    inputs.answer("j", "k", {"roots": [1]})
    inputs.forget("j")
    inputs.answer("j", "k-2", {"roots": [2]})
    assert given == [{"roots": []}]


def test_the_extension_is_declared_by_its_name() -> None:
    assert tasks.declared({"extensions": {"io.modelcontextprotocol/tasks": {}}})
    assert not tasks.declared({"extensions": {}})
    assert not tasks.declared({"extensions": []})
    assert not tasks.declared({"tasks": {}})


def test_every_state_of_a_job_is_a_status(jobs: Jobs) -> None:
    job = jobs.begin("k", "t", "a")
    assert shown(jobs, job.id)["status"] == "working"
    job.wait_for_input("Well?")
    task = shown(jobs, job.id)
    assert (task["status"], task["inputRequests"]) == ("input_required", {})
    jobs.cancel(job.id, "a")
    assert shown(jobs, job.id)["status"] == "cancelled"
    assert isinstance(jobs.get(job.id, "a"), Job)
