# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames rendered by a real client: cancelled, resumed, and nothing lost."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.base import folders
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.rendering import frames

from support.clients.tool_calls import ToolError, Tools

TINY = {"resolution": [8, 4], "samples": 1}
YES = {"action": "accept", "content": {}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    named = tmp_path / "named"
    named.mkdir()
    monkeypatch.setenv("BLENDER_MCP_FOLDERS", str(named))
    return named


@pytest.fixture
def tools(folder: Path, empty_scene: None) -> Iterator[Tools]:
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location.z = 8
    bpy.context.scene.collection.objects.link(camera)
    bpy.context.scene.camera = camera
    bpy.context.scene.cycles.use_denoising = False
    approvals.close()
    started = Tools(elicitation={"form": {}})
    yield started
    started.stop()
    shutil.rmtree(folders.user_folder() / "renders", ignore_errors=True)


def until(tools: Tools, job_id: str, wanted: Any) -> dict[str, Any]:
    """Ask for a job until it is as `wanted` says."""
    for _ in range(3000):
        job = tools("get_job", job_id=job_id)
        if wanted(job):
            return job
        assert job["state"] == "working", job
        time.sleep(0.02)
    raise AssertionError(job)


def kept() -> list[str]:
    return [path.name for path in (folders.user_folder() / "renders").glob("*")]


def test_250_frames_cancelled_and_resumed_with_nothing_lost(tools: Tools, folder: Path) -> None:
    begun = tools("render_animation", path="turn.png", start=1, end=250, wait_seconds=0, **TINY)
    assert begun["status"] == "pending"
    until(tools, begun["job_id"], lambda job: job["progress"] >= 20)
    assert tools("cancel_job", job_id=begun["job_id"])["state"] == "cancelled"
    assert f"resume {begun['render_id']!r} goes on" in tools("get_job", job_id=begun["job_id"])["message"]
    render_id = begun["render_id"]
    manifest = folders.user_folder() / "renders" / render_id / "render.json"
    end = time.monotonic() + 60
    while render_id in frames._running:  # the frame that was being rendered is let go of
        assert time.monotonic() < end
        time.sleep(0.02)
    done = json.loads(manifest.read_text())["done"]
    assert 20 <= len(done) < 250
    there = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}
    assert sorted(there) == sorted(f"turn_{frame:04d}.png" for frame in done)

    bpy.context.scene.camera = None  # what is resumed is the scene as it was
    answer = tools("render_animation", resume=render_id, wait_seconds=45)
    while answer["status"] == "pending":
        answer = until(tools, answer["job_id"], lambda job: job["state"] == "completed")["result"]
    assert (answer["frames"], answer["frames_before"]) == (250, len(done))
    assert sorted(path.name for path in folder.iterdir()) == [
        f"turn_{frame:04d}.png" for frame in range(1, 251)
    ]
    for name, (written, data) in there.items():
        assert ((folder / name).stat().st_mtime_ns, (folder / name).read_bytes()) == (written, data)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.iterdir())
    assert kept() == []
    with pytest.raises(ToolError, match=f"There is no unfinished render '{render_id}' of yours"):
        tools("render_animation", resume=render_id)


def test_each_frame_shows_its_moment(tools: Tools, folder: Path) -> None:
    lamp = bpy.data.objects.new("Lamp", bpy.data.lights.new("Lamp", "SUN"))
    bpy.context.scene.collection.objects.link(lamp)
    bpy.ops.mesh.primitive_plane_add(size=20)
    for frame, energy in ((3, 0.0), (7, 20.0)):
        lamp.data.energy = energy
        lamp.data.keyframe_insert("energy", frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 3, 7
    done = tools("render_animation", path="a.png", step=4, wait_seconds=45, **TINY)
    assert (done["first"], done["last"], done["frames"]) == ("a_0003.png", "a_0007.png", 2)
    light = []
    for name in (done["first"], done["last"]):
        image = bpy.data.images.load(str(folder / name))
        light.append(sum(image.pixels[:]))
        bpy.data.images.remove(image)
    assert light[1] > light[0] + 1


def test_frames_that_are_there_are_asked_for(tools: Tools, folder: Path) -> None:
    (folder / "a_0002.png").write_text("kept")
    arguments = {"path": "a.png", "start": 1, "end": 3, "wait_seconds": 45, **TINY}
    first = tools.raw("render_animation", arguments)
    [(key, request)] = first["inputRequests"].items()
    assert request["params"]["message"] == f"Overwrite {folder / 'a_0002.png'}?"
    rounds = {"requestState": first["requestState"]}
    answer = tools.raw("render_animation", arguments, inputResponses={key: {"action": "decline"}}, **rounds)
    assert answer["isError"]
    assert [path.name for path in folder.iterdir()] == ["a_0002.png"]
    assert kept() == []
    first = tools.raw("render_animation", arguments)
    rounds = {"requestState": first["requestState"]}
    answer = tools.raw("render_animation", arguments, inputResponses={key: YES}, **rounds)
    assert answer["structuredContent"]["frames"] == 3
    assert (folder / "a_0002.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "../a.png"}, "not a plain name"),
        ({"path": "a.exe"}, "the name has to end in .png"),
        ({"path": "a.png", "start": 5, "end": 4}, "There is no frame from 5 to 4"),
        ({"path": "a.png", "start": 0, "end": 20_000}, "20,001 frames are more than 20,000"),
        ({"path": "a.png", "camera": "Nobody"}, "There is no object 'Nobody'"),
        ({"resume": "../../etc"}, "There is no unfinished render '../../etc' of yours"),
        ({"resume": "0123456789abcdef"}, "There is no unfinished render"),
    ],
)
def test_impossible_renders_are_refused(tools: Tools, folder: Path, arguments: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        tools("render_animation", **arguments)
    assert kept() == []


def test_a_render_belongs_to_the_client_that_ordered_it(tmp_path: Path) -> None:
    made = frames.Order(
        "0123456789abcdef", "alice", str(tmp_path), "a", (1, 2), {}, "c.blend", {}, (), False, (1,)
    )
    (tmp_path / made.id).mkdir()
    frames._keep(tmp_path, made)
    assert frames.load(tmp_path, made.id, "alice") == made
    with pytest.raises(InvalidParamsError, match="no unfinished render '0123456789abcdef' of yours"):
        frames.load(tmp_path, made.id, "bob")
    assert made.left == (1, 2)  # frame 1 was removed by somebody
    made.place(1).touch()
    assert made.left == (2,)
