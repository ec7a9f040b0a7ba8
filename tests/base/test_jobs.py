# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.base.jobs import KEEP_COUNT, KEEP_S, Job, Jobs


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_job_goes_from_working_to_its_end_and_listeners_see_each_step() -> None:
    jobs, seen = Jobs(), []
    stop = jobs.listen(lambda job: seen.append((job.state, job.progress, job.message)))
    handle = jobs.begin("render", "Render Camera", "cursor")
    handle.report(3, 10, "frame 3")
    handle.report(2)
    handle.wait_for_input("Approve?")
    handle.resume()
    handle.complete({"frames": 10})
    handle.fail("too late")
    stop()
    jobs.begin("render", "Unseen", "cursor")
    assert seen == [
        ("working", 0.0, ""),
        ("working", 3, "frame 3"),
        ("working", 3, "frame 3"),
        ("input_required", 3, "Approve?"),
        ("working", 3, ""),
        ("completed", 3, ""),
    ]
    job = jobs.get(handle.id, "cursor")
    assert (job.state, job.result, job.error, job.total, job.ended) == (
        "completed",
        {"frames": 10},
        None,
        10,
        True,
    )


def test_a_question_becomes_the_work_that_it_was_about() -> None:
    jobs = Jobs()
    handle = jobs.begin("request", "Run it?", "cursor")
    handle.become("files", "Run a script in 3 files")
    job = jobs.get(handle.id, "cursor")
    assert (job.id, job.kind, job.title, job.state) == (
        handle.id,
        "files",
        "Run a script in 3 files",
        "working",
    )


def test_another_client_sees_nothing_of_it() -> None:
    jobs = Jobs()
    handle = jobs.begin("render", "Render", "cursor")
    assert jobs.list("zed") == []
    with pytest.raises(InvalidParamsError, match=f"There is no job '{handle.id}'. list_jobs shows yours."):
        jobs.get(handle.id, "zed")
    with pytest.raises(InvalidParamsError):
        jobs.cancel(handle.id, "zed")
    assert not handle.cancelled.is_set()


def test_cancel_reaches_the_work_and_stands_whatever_the_work_says_later() -> None:
    jobs, acted = Jobs(), []
    handle = jobs.begin("render", "Render", "cursor")
    handle.on_cancel(lambda: acted.append(1))
    assert jobs.cancel(handle.id, "cursor").state == "cancelled"
    handle.complete("picture")
    assert jobs.cancel(handle.id, "cursor").result is None
    assert handle.cancelled.is_set()
    assert acted == [1]
    handle.on_cancel(lambda: acted.append(2))
    assert acted == [1, 2]


def test_cancel_all_ends_what_is_open_and_leaves_the_rest() -> None:
    jobs = Jobs()
    done, open_job = jobs.begin("a", "A", "x"), jobs.begin("b", "B", "y")
    done.complete(1)
    jobs.cancel_all()
    assert [job.state for job in (*jobs.list("x"), *jobs.list("y"))] == ["completed", "cancelled"]
    assert open_job.cancelled.is_set()


def test_ended_jobs_are_forgotten_by_age_and_number_but_open_ones_never() -> None:
    clock = Clock()
    jobs = Jobs(clock)
    open_job = jobs.begin("slow", "Slow", "x")
    ids = []
    for _ in range(KEEP_COUNT + 5):
        handle = jobs.begin("quick", "Quick", "x")
        handle.complete(None)
        ids.append(handle.id)
    jobs.begin("quick", "Last", "x")
    known = {job.id for job in jobs.list("x")}
    assert ids[0] not in known
    assert ids[-1] in known
    clock.now += KEEP_S + 1
    jobs.begin("quick", "Later", "x")
    left: list[Job] = jobs.list("x")
    assert [job.title for job in left] == ["Later", "Last", "Slow"]
    assert left[-1].id == open_job.id
