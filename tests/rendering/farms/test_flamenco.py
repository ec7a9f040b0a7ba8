# SPDX-License-Identifier: GPL-3.0-or-later
"""Flamenco's adapter against a small server whose shapes are written from the manager's OpenAPI document.

The document was read in a public fork of Flamenco's source, since its own repository is not on GitHub.

It is no Flamenco: it keeps jobs, checks what the document requires of a request, and answers with the document's
fields. What a real manager would make of a job's settings is not tested.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, PolicyError
from bl_ext.user_default.mcp_bridge.rendering.farms import flamenco
from bl_ext.user_default.mcp_bridge.rendering.farms.engines import Seen, Task
from bl_ext.user_default.mcp_bridge.rendering.farms.order import FarmJob
from bl_ext.user_default.mcp_bridge.rendering.farms.targets import Target

from support.services.web import Reply, Request, Web

#: JobStatus of the document.
STATUSES = {
    *("active", "canceled", "completed", "failed", "paused", "queued", "cancel-requested", "requeueing"),
    "under-construction",
}
NOW = "2026-01-01T00:00:00Z"


class Manager:
    """Jobs by id, tasks by id, and the manager's variables."""

    def __init__(self) -> None:
        self.web = Web()
        self.jobs: dict[str, dict[str, Any]] = {}
        self.tasks: dict[str, dict[str, Any]] = {}
        self.variables: dict[str, Any] = {"blenderArgs": {"is_twoway": False, "value": "-b -y"}}
        self.web.routes["/api/v3/jobs"] = self.submit
        self.web.routes["/api/v3/jobs/query"] = self.query
        for platform in ("linux", "darwin", "windows"):
            self.web.routes[f"/api/v3/configuration/variables/workers/{platform}"] = lambda _: Reply(
                self.variables
            )

    def submit(self, request: Request) -> Reply:
        job = request.json()
        lacking = {"name", "type", "priority", "submitter_platform"} - job.keys()
        settings = job["settings"]
        lacking |= {
            "frames",
            "render_output_root",
            "add_path_components",
            "blendfile",
            "format",
        } - settings.keys()
        lacking |= {"image_file_extension"} - settings.keys()
        if lacking or not all(isinstance(value, str) for value in job["metadata"].values()):
            return Reply({"code": 400, "message": f"lacking {lacking}"}, status=400)
        job |= {"id": str(uuid.uuid4()), "created": NOW, "updated": NOW, "status": "queued", "activity": ""}
        self.jobs[job["id"]] = job
        path = f"/api/v3/jobs/{job['id']}"
        self.web.routes[path] = lambda _: Reply(job)
        self.web.routes[f"{path}/setstatus"] = lambda asked: self.change(job, asked)
        self.web.routes[f"{path}/tasks"] = lambda _: Reply(
            {"tasks": [one for one in self.tasks.values() if one["job_id"] == job["id"]] or None}
        )
        return Reply(job)

    def query(self, request: Request) -> Reply:
        asked = request.json()
        assert set(asked["status_in"]) <= STATUSES
        found = [
            job
            for job in self.jobs.values()
            if job["status"] in asked["status_in"] and asked["metadata"].items() <= job["metadata"].items()
        ]
        return Reply({"jobs": found})

    def change(self, job: dict[str, Any], request: Request) -> Reply:
        asked = request.json()
        assert asked.keys() == {"status", "reason"}
        assert asked["status"] in STATUSES
        job["status"] = asked["status"]
        return Reply(b"", status=204)

    def fail(self, job_id: str, worker: str, activity: str) -> None:
        task_id = str(uuid.uuid4())
        known = {"id": task_id, "created": NOW, "updated": NOW, "job_id": job_id, "name": "render-1-3"}
        known |= {"status": "failed", "priority": 50, "task_type": "blender", "activity": activity}
        who = {"id": str(uuid.uuid4()), "name": worker, "address": "::1"}
        self.tasks[task_id] = {**known, "commands": [], "worker": who}
        self.web.routes[f"/api/v3/tasks/{task_id}"] = lambda _: Reply(self.tasks[task_id])
        self.jobs[job_id]["status"] = "failed"


@pytest.fixture
def manager() -> Iterator[Manager]:
    made = Manager()
    yield made
    made.web.__exit__()


@pytest.fixture
def target(manager: Manager, tmp_path: Path) -> Target:
    return Target("studio", "flamenco", {"address": manager.web.url, "folder": str(tmp_path)})


def task(folder: Path, scripts: tuple[str, ...] = ()) -> Task:
    job = FarmJob(
        id="0123456789abcdef",
        owner="alice",
        title="Turn {timestamp} $(x)",
        where="studio",
        folder=str(folder / "named"),
        stem="turn",
        frames=(1, 2, 3, 7, 9, 10),
        chunk=3,
        seconds=1.0,
        version="4.2",
        command=("blender",),
        outside=(),
        scripts=scripts,
        overwrite=False,
        video=False,
        bundle=str(folder / "job"),
    )
    return Task(job, "frames", [[1, 2, 3], [7, 9, 10]], 1)


def test_a_job_is_submitted_followed_and_cancelled(manager: Manager, target: Target, tmp_path: Path) -> None:
    engine_id = flamenco.submit(target, task(tmp_path))
    job = manager.jobs[engine_id]
    assert (job["type"], job["name"]) == ("simple-blender-render", "Turn _timestamp_ _(x)")
    settings = job["settings"]
    assert settings["frames"] == "1-3,7,9-10"
    assert settings["chunk_size"] == 3
    assert settings["blendfile"] == str(tmp_path / "job" / "scene.blend")
    assert settings["render_output_path"] == str(tmp_path / "job" / "results" / "frame_######")
    assert "fps" not in settings  # else the manager makes a video by itself
    assert flamenco.look(target, [engine_id]) == {engine_id: Seen(True)}
    flamenco.cancel(target, engine_id)
    assert job["status"] == "cancel-requested"
    job["status"] = "canceled"
    assert flamenco.look(target, [engine_id]) == {engine_id: Seen(False, "the job is canceled")}


def test_many_jobs_are_one_question(manager: Manager, target: Target, tmp_path: Path) -> None:
    ids = [flamenco.submit(target, task(tmp_path)) for _ in range(20)]
    manager.web.seen.clear()
    assert flamenco.look(target, ids) == dict.fromkeys(ids, Seen(True))
    assert len(manager.web.seen) == 1


def test_a_failure_names_worker_and_reason(manager: Manager, target: Target, tmp_path: Path) -> None:
    engine_id = flamenco.submit(target, task(tmp_path))
    manager.fail(engine_id, "render-7", "exit status 1\x1b[2J")
    seen = flamenco.look(target, [engine_id])[engine_id]
    assert seen == Seen(False, "the job is failed; task render-1-3: exit status 1 [2J", "render-7")


def test_a_file_with_scripts_goes_only_where_they_stay_off(
    manager: Manager, target: Target, tmp_path: Path
) -> None:
    asked = task(tmp_path, scripts=("rig_ui.py",))
    with pytest.raises(
        PolicyError, match=r"The file has scripts \(rig_ui\.py\), and workers of studio would run them"
    ):
        flamenco.submit(target, asked)
    manager.variables = {}
    with pytest.raises(PolicyError, match="blenderArgs is None"):
        flamenco.submit(target, asked)
    assert manager.jobs == {}
    manager.variables = {"blenderArgs": {"is_twoway": False, "value": "-b --disable-autoexec"}}
    assert flamenco.submit(target, asked) in manager.jobs


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            Reply({"code": 500, "message": "the database is\x07 busy"}, status=500),
            r"refused \(500\): the database is  busy",
        ),
        (Reply("<html>", status=404), r"refused \(404\): it gave no reason"),
        (Reply("<html>"), "instead of JSON"),
        (Reply(b"[" * 100_000), "instead of JSON"),
        (Reply([]), "named 'None' as an id"),
        (Reply({"id": "../../etc"}), "named '../../etc' as an id"),
        (Reply(b"x" * 1000, endless=True), "more than"),
        (Reply({"id": "x"}, cut=3), "connection"),
    ],
)
def test_a_hostile_manager_does_no_harm(
    manager: Manager, target: Target, tmp_path: Path, reply: Reply, message: str
) -> None:
    manager.web.routes["/api/v3/jobs"] = reply
    with pytest.raises(ExternalServiceError, match=message):
        flamenco.submit(target, task(tmp_path))


def test_a_manager_that_is_not_there(tmp_path: Path) -> None:
    gone = Web()
    address = gone.url
    gone.__exit__()
    target = Target("studio", "flamenco", {"address": address, "folder": str(tmp_path)})
    with pytest.raises(ExternalServiceError, match=r"The Flamenco manager 127\.0\.0\.1"):
        flamenco.look(target, ["x"])


@pytest.mark.parametrize(
    ("frames", "text"), [((1,), "1"), ((1, 2, 3), "1-3"), ((1, 3, 5), "1,3,5"), ((9, 1, 2, 10), "1-2,9-10")]
)
def test_spans(frames: tuple[int, ...], text: str) -> None:
    assert flamenco.spans(frames) == text
    assert json.loads(f'"{text}"') == text
