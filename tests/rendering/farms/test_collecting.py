# SPDX-License-Identifier: GPL-3.0-or-later
"""What is taken of the folder that workers write to, and what is left alone."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.rendering.farms import collecting, order
from bl_ext.user_default.mcp_bridge.rendering.farms.order import Failure, FarmJob, State

PNG = b"\x89PNG\r\n\x1a\n" + b"picture" + b"\0\0\0\0IEND\xaeB`\x82"
TOLD = {"frame": 3, "state": "failed", "worker": "n1", "attempt": 2, "error": "no memory"}


@pytest.fixture
def job(tmp_path: Path) -> FarmJob:
    (tmp_path / "job" / "results").mkdir(parents=True)
    (tmp_path / "named").mkdir()
    return FarmJob(
        *(
            "job",
            "alice",
            "Render",
            "here",
            str(tmp_path / "named"),
            "turn",
            tuple(range(1, 10)),
            3,
            1.0,
            "4.2",
        ),
        *(("blender",), (), (), False, False, str(tmp_path / "job")),
    )


def take(job: FarmJob, name: str, frame: int) -> bool:
    staging = Path(job.folder) / ".staging"
    staging.mkdir(exist_ok=True)
    return collecting.collect(job, name, frame, staging, keep=False)


def test_a_whole_picture_comes_home_once(job: FarmJob) -> None:
    (job.results / "frame_3.png").write_bytes(PNG)
    assert collecting.look(job, ()).pictures == {3: "frame_3.png"}
    assert collecting.look(job, {3}).pictures == {}
    assert take(job, "frame_3.png", 3)
    assert job.place(3).read_bytes() == PNG
    assert list(job.results.iterdir()) == []


@pytest.mark.parametrize("data", [b"", PNG[:-1], PNG[1:], b"#!/bin/sh\n", PNG[:8]])
def test_half_a_picture_stays(job: FarmJob, data: bytes) -> None:
    (job.results / "frame_3.png").write_bytes(data)
    assert not take(job, "frame_3.png", 3)
    assert not job.place(3).exists()


def test_no_link_and_no_pipe_is_followed(job: FarmJob, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(PNG)
    (job.results / "frame_1.png").symlink_to(secret)
    os.mkfifo(job.results / "frame_2.png")
    os.mkfifo(job.results / "frame_2.json")
    (job.results / "frame_3.json").symlink_to("/etc/passwd")
    assert collecting.look(job, ()).told == {}
    assert not take(job, "frame_1.png", 1)
    assert not take(job, "frame_2.png", 2)
    assert secret.read_bytes() == PNG


def test_a_file_of_somebody_elses_stays(job: FarmJob) -> None:
    (job.results / "frame_3.png").write_bytes(PNG)
    job.place(3).write_text("mine")
    with pytest.raises(PolicyError, match="exists already, and the user did not agree to overwrite it"):
        take(job, "frame_3.png", 3)
    assert job.place(3).read_text() == "mine"
    assert take(replace(job, overwrite=True), "frame_3.png", 3)


def test_frames_that_nobody_ordered_are_left(job: FarmJob) -> None:
    for name in ("frame_99.png", "frame_-1.png", "frame_3.png.exe", "frame_9999999999.png", "../frame_3.png"):
        if "/" not in name:
            (job.results / name).write_bytes(PNG)
    assert collecting.look(job, ()).pictures == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"null",
        b'{"state": "won", "worker": "n1", "attempt": 1}',
        b'{"state": "failed", "worker": 7, "attempt": 1}',
        b'{"state": "failed", "worker": "n1", "attempt": true}',
        b'{"state": "failed", "worker": "n1", "attempt": 1, "error": {}}',
        b'{"state": ["failed"], "worker": "n1", "attempt": 1}',
        json.dumps({**TOLD, "error": "x" * 20_000}).encode(),
        b"\xff\xfe",
    ],
)
def test_what_no_worker_says_counts_as_nothing(job: FarmJob, data: bytes) -> None:
    (job.results / "frame_3.json").write_bytes(data)
    assert collecting.look(job, ()).told == {}


def test_what_a_worker_says_is_one_line_of_text(job: FarmJob) -> None:
    (job.results / "frame_3.json").write_text(
        json.dumps({**TOLD, "worker": "n1\x1b[2J", "error": "a\nb" * 400})
    )
    told = collecting.look(job, ()).told[3]
    assert (told.state, told.attempt, told.worker) == ("failed", 2, "n1 [2J")
    assert len(told.error) <= 1000
    assert told.error.isprintable()


def test_an_order_is_read_as_it_was_written(job: FarmJob, tmp_path: Path) -> None:
    state = State(2, "17", "video", {3: 2}, (Failure(4, "n1", "no memory"),))
    order.keep(tmp_path, job, state)
    assert list(order.kept(tmp_path)) == [(job, state)]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / order.FILE).write_text('{"order": {}')
    assert list(order.kept(tmp_path)) == [(job, state)]
    order.note_taken(tmp_path, job, 3)
    order.note_taken(tmp_path, job, 4)
    job.place(3).write_bytes(PNG)
    assert order.read_taken(tmp_path, job) == {3}  # the picture of 4 is not there
