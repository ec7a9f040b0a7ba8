# SPDX-License-Identifier: GPL-3.0-or-later
"""AWS Deadline Cloud: its library reads our bundle, and its command is called as its source has it.

Nothing is submitted: that needs an account. A program of ours stands in for the command, prints what that one prints,
and notes how it was called.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.rendering.farms import bundle, deadline
from bl_ext.user_default.mcp_bridge.rendering.farms.engines import Seen, Task
from bl_ext.user_default.mcp_bridge.rendering.farms.order import FarmJob
from bl_ext.user_default.mcp_bridge.rendering.farms.targets import Target

JOB = f"job-{'0123456789abcdef' * 2}"


def job(folder: Path) -> FarmJob:
    (folder / "packed.blend").write_bytes(b"BLENDER")
    made = FarmJob(
        *(
            "0123456789abcdef",
            "alice",
            "Turn",
            "cloud",
            str(folder / "named"),
            "turn",
            (1, 2, 3),
            2,
            1.0,
            "4.2",
        ),
        *(("blender",), (), (), False, False, str(folder / "job")),
    )
    bundle.write(made, folder / "packed.blend", Path(made.bundle))
    return made


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """A target whose command notes its arguments, and prints what lies in `says`."""
    program = tmp_path / "deadline"
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\nhere = pathlib.Path({str(tmp_path)!r})\n"
        "with (here / 'called').open('a') as file: print(*sys.argv[1:], sep='\\t', file=file)\n"
        "print((here / 'says').read_text())\nsys.exit(int((here / 'code').read_text()))\n"
    )
    program.chmod(0o755)
    (tmp_path / "code").write_text("0")
    return Target("cloud", "deadline", {"program": str(program), "folder": str(tmp_path), "farm": "farm-1"})


def called(folder: Path) -> list[list[str]]:
    return [line.split("\t") for line in (folder / "called").read_text().splitlines()]


def test_deadlines_own_library_reads_the_bundle(tmp_path: Path) -> None:
    parameters = pytest.importorskip(
        "deadline.client.job_bundle.parameters", reason="needs `pip install deadline`"
    )
    made = job(tmp_path)
    found = parameters.read_job_bundle_parameters(made.bundle)
    values = {one["name"]: one["value"] for one in found}
    assert values["SceneFile"] == str(tmp_path / "job" / "scene.blend")
    assert values["Chunks"] == "0-1"
    script = replace(
        made, frames=(1,), files=(("/a.blend", "/", "/b.blend"),), bundle=str(tmp_path / "files")
    )
    bundle.write(script, None, Path(script.bundle))
    values = {one["name"]: one["value"] for one in parameters.read_job_bundle_parameters(script.bundle)}
    assert values["Extension"] == str(tmp_path / "files" / "extension")


def test_a_bundle_is_submitted_followed_and_cancelled(target: Target, tmp_path: Path) -> None:
    made = job(tmp_path)
    (tmp_path / "says").write_text(f"Submitting...\nJob creation completed successfully\n{JOB}\n")
    assert deadline.submit(target, Task(made, "frames", [[1, 2], [3]], 1)) == JOB
    (tmp_path / "says").write_text("jobId: x\ntaskRunStatus: RUNNING\n")
    assert deadline.look(target, [JOB]) == {JOB: Seen(True)}
    (tmp_path / "says").write_text("jobId: x\ntaskRunStatus: FAILED\n")
    assert deadline.look(target, [JOB]) == {JOB: Seen(False, "Deadline says FAILED")}
    deadline.cancel(target, JOB)
    assert called(tmp_path) == [
        ["bundle", "submit", made.bundle, "--yes", "--submitter-name", "MCP Bridge", "--farm-id=farm-1"],
        ["job", "get", "--job-id", JOB, "--farm-id=farm-1"],
        ["job", "get", "--job-id", JOB, "--farm-id=farm-1"],
        ["job", "download-output", "--job-id", JOB, "--yes", "--farm-id=farm-1"],
        ["job", "cancel", "--job-id", JOB, "--yes", "--farm-id=farm-1"],
    ]


def test_failures_of_deadline_are_reported(target: Target, tmp_path: Path) -> None:
    task = Task(job(tmp_path), "frames", [[1]], 1)
    (tmp_path / "says").write_text("nothing of use")
    with pytest.raises(ExternalServiceError, match="deadline named no job: 'nothing of use'"):
        deadline.submit(target, task)
    (tmp_path / "code").write_text("1")
    with pytest.raises(ExternalServiceError, match="deadline failed: nothing of use"):
        deadline.submit(target, task)
    nowhere = Target("cloud", "deadline", {"program": "/nowhere/deadline", "folder": str(tmp_path)})
    with pytest.raises(ExternalServiceError, match="There is no program '/nowhere/deadline' on the PATH"):
        deadline.submit(nowhere, task)
