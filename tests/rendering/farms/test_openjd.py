# SPDX-License-Identifier: GPL-3.0-or-later
"""Animations on this computer's openjd: a real one, ordered by a real client."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import folders
from bl_ext.user_default.mcp_bridge.rendering.farms import engines, follow, openjd, targets

from support.clients.tool_calls import ToolError, Tools
from support.services import farm


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return farm.set_up(tmp_path, monkeypatch, f'here = openjd program="{farm.openjd(tmp_path)}"')


@pytest.fixture
def tools(folder: Path, connect: Callable[[], Tools]) -> Tools:
    return connect()


def test_frames_and_a_video_come_home(tools: Tools, folder: Path) -> None:
    said, answer = farm.question(tools, path="turn.png", start=1, end=5, where="here", video=True)
    assert "Render 5 frames (1 to 5) on here (openjd)?" in said
    assert "32 × 18 pixels by CYCLES, 1 samples. A frame takes" in said
    assert f"Results: {folder / 'turn_0001.png'} and on, and turn.mp4." in said
    begun = answer(farm.YES)["structuredContent"]
    job = farm.ended(tools, begun["job_id"])
    assert job["state"] == "completed", str(job)
    assert sorted(path.name for path in folder.iterdir()) == [
        "turn.mp4",
        *(f"turn_{frame:04d}.png" for frame in range(1, 6)),
    ]
    assert (job["result"]["done"], job["result"]["failures"]) == (5, [])
    shown = tools.raw("get_job", {"job_id": begun["job_id"]})["content"]
    assert [block["mimeType"] for block in shown if block["type"] == "image"] == ["image/jpeg"]
    video = bpy.data.movieclips.load(str(folder / "turn.mp4"))
    assert (video.frame_duration, tuple(video.size)) == (5, (32, 18))
    bpy.data.movieclips.remove(video)
    assert list((folders.user_folder() / "renders").iterdir()) == []


def test_without_a_yes_nothing_is_rendered(tools: Tools, folder: Path) -> None:
    _, answer = farm.question(tools, path="turn.png", start=1, end=5, where="here")
    assert answer({"action": "decline"})["isError"]
    assert list(folder.iterdir()) == []
    assert list((folders.user_folder() / "renders").iterdir()) == []


def test_what_is_handed_on_while_the_bridge_stops_is_found_again_and_a_cancel_ends_it(
    tools: Tools, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = openjd.submit

    def submit_late(target: targets.Target, task: engines.Task) -> str:
        engine_id = submit(target, task)
        follow.stop()
        return engine_id

    with monkeypatch.context() as patch:
        patch.setattr(openjd, "submit", submit_late)
        job_id = farm.order(tools, path="turn.png", start=1, end=2000, where="here")
    assert "mcp_bridge farms" not in [thread.name for thread in threading.enumerate()]
    follow.resume(folders.user_folder() / "renders")
    farm.until(tools, job_id, lambda job: job["render"]["done"] >= 2)
    assert farm.workers(job_id)
    assert tools("cancel_job", job_id=job_id)["state"] == "cancelled"
    while follow._follower.runs:
        follow._follower.wake.wait(0.05)
    assert farm.workers(job_id) == []
    assert list((folders.user_folder() / "renders").iterdir()) == []
    assert len(list(folder.glob("turn_*.png"))) >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"where": "moon"}, "There is no target 'moon'. Targets: 'here'. The user sets them up"),
        ({"where": "here", "resume": "0123456789abcdef"}, "leave where out"),
        ({"video": True}, "video needs a render target that makes it: name one in where"),
        ({"where": "here", "path": "a.exe"}, "the name has to end in .png"),
        ({"where": "here", "start": 5, "end": 4}, "There is no frame from 5 to 4"),
        ({"where": "here", "camera": "Nobody"}, "There is no object 'Nobody'"),
        (
            {"where": "here", "video": True, "resolution": [32, 8]},
            "A video has at least 16 pixels on each side",
        ),
    ],
)
def test_impossible_orders_are_refused(tools: Tools, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        tools("render_animation", **{"path": "turn.png", **farm.TINY, **arguments})


def test_a_missing_openjd_is_reported(tools: Tools, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "policy.toml").write_text("render_targets = 'here = openjd program=/nowhere/openjd'\n")
    _, answer = farm.question(tools, path="turn.png", start=1, end=2, where="here")
    said = answer(farm.YES)
    assert said["isError"]
    assert "There is no program '/nowhere/openjd' on the PATH: `pipx install openjd-cli`" in str(
        said["content"]
    )
    assert list((folders.user_folder() / "renders").iterdir()) == []


def test_the_default_target_is_this_computer() -> None:
    assert targets.named("this computer").engine == "openjd"


def test_one_question_also_says_what_is_overwritten(tools: Tools, folder: Path) -> None:
    (folder / "turn_0002.png").write_text("mine")
    said, answer = farm.question(tools, path="turn.png", start=1, end=2, where="here")
    assert f"Overwrites what is there: {folder / 'turn_0002.png'}." in said
    job = farm.ended(tools, answer(farm.YES)["structuredContent"]["job_id"])
    assert (job["state"], job["result"]["done"]) == ("completed", 2)
    assert (folder / "turn_0002.png").read_bytes().startswith(b"\x89PNG")


def test_a_list_of_jobs_shows_the_last_frame(tools: Tools) -> None:
    job_id = farm.order(tools, path="turn.png", start=1, end=2000, where="here")
    farm.until(tools, job_id, lambda job: job["render"]["done"] >= 2)
    listed = tools.raw("list_jobs", {})
    [job] = [each for each in listed["structuredContent"]["jobs"] if each["job_id"] == job_id]
    assert (job["render"]["frames"], job["render"]["failures"]) == (2000, [])
    assert job["render"]["done"] >= 2
    assert {block["mimeType"] for block in listed["content"] if block["type"] == "image"} == {"image/jpeg"}
