# SPDX-License-Identifier: GPL-3.0-or-later
"""A render goes on in another Blender, after one that was killed and one that was ended; by the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.rendering import frames

from support.bridges.live import websocket_transport
from support.bridges.serving import TOKEN, Served, serving

#: So many that Blender is still at work when it is ended, on a busy machine too.
FRAMES, RESOLUTION = 60, [32, 18]
#: How many of them each Blender makes at least before it ends.
EACH = 4


def use(served: Served, work: Callable[[mcp.Client], Any]) -> Any:
    """Do `work` with a client that can ask nobody."""

    async def connected() -> Any:
        url = f"ws://127.0.0.1:{served.port}/mcp?token={TOKEN}"
        async with mcp.Client(websocket_transport(url)) as client:
            return await asyncio.wait_for(work(client), 120)

    return asyncio.run(connected())


async def render(client: mcp.Client, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool("render_animation", {"wait_seconds": 0, **arguments})
    assert not result.is_error, result.content
    return result.structured_content


async def until(client: mcp.Client, job_id: str, wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    while True:
        job = (await client.call_tool("get_job", {"job_id": job_id})).structured_content
        if wanted(job):
            return job
        assert job["state"] in ("working", "completed"), job
        await asyncio.sleep(0.05)


@pytest.mark.timeout(360)
def test_a_render_survives_the_end_of_its_blender(tmp_path: Path) -> None:
    named = tmp_path / "named"
    named.mkdir()
    env = {"BLENDER_MCP_FOLDERS": str(named)}

    async def begin(client: mcp.Client) -> str:
        begun = await render(client, path="a.png", start=1, end=FRAMES, resolution=RESOLUTION, samples=1)
        while len(pictures(named)) < EACH:  # quicker than asking, which a busy machine answers late
            await asyncio.sleep(0.02)
        return begun["render_id"]

    with serving(tmp_path, killed=True, **env) as served:
        render_id = use(served, begin)
    before = pictures(named)
    assert EACH <= len(before) < FRAMES

    async def go_on(client: mcp.Client) -> str:
        answer = await client.call_tool("render_animation", {"resume": "forgotten"})
        [unfinished] = re.findall(r"Unfinished: '(\w+)', \S+a_0001.png and on", answer.content[0].text)
        begun = await render(client, resume=unfinished)
        await until(client, begun["job_id"], lambda job: job["progress"] >= len(before) + EACH)
        return begun["render_id"]

    with serving(tmp_path, **env) as served:  # ends it well, in the middle of the render
        assert use(served, go_on) == render_id
    assert pictures(named).items() >= before.items()

    async def finish(client: mcp.Client) -> dict[str, Any]:
        answer = await render(client, resume=render_id)
        if answer["status"] == "pending":
            job = await until(client, answer["job_id"], lambda job: job["state"] == "completed")
            answer = job["result"]
        last = await client.call_tool("download_file", {"path": answer["last"]})
        assert last.content[0].type == "image", "what the client rendered it may fetch, without a question"
        return answer

    with serving(tmp_path, **env) as served:
        done = use(served, finish)
    after = pictures(named)
    assert done["frames"] == FRAMES
    assert sorted(after) == [f"a_{frame:04d}.png" for frame in range(1, FRAMES + 1)]
    assert after.items() >= before.items(), "what was there was rendered again"
    assert [path.name for path in named.iterdir() if not path.name.endswith(".png")] == []


def pictures(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("a_*.png")}


def order(folder: Path, **more: Any) -> frames.Order:
    made = frames.Order(
        "0123456789abcdef", "alice", str(folder), "a", (1, 2), {}, "c.blend", {}, (), False, **more
    )
    (folder / made.id).mkdir()
    frames._keep(folder, made)
    return made


def test_a_render_of_another_blender_is_not_taken_over_while_that_lives(tmp_path: Path) -> None:
    made = order(tmp_path)
    claim = tmp_path / made.id / frames._CLAIM
    claim.write_text(str(os.getppid()))
    message = r"'0123456789abcdef' is under way in another Blender"
    with pytest.raises(InvalidParamsError, match=message), frames._claimed(tmp_path / made.id):
        pass
    for gone in ("4194304", "nonsense", str(os.getpid())):
        claim.write_text(gone)
        with frames._claimed(tmp_path / made.id):
            assert claim.read_text() == str(os.getpid())
        assert not claim.exists()


def test_a_picture_that_came_just_before_a_crash_is_known_as_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = order(tmp_path)
    kept: list[tuple[bool, tuple[int, ...]]] = []

    def take(_made: Path, _staging: Path, ordered: frames.Order, frame: int) -> None:
        path = tmp_path / ordered.id / frames._FILE
        kept.append((ordered.overwrite, tuple(json.loads(path.read_text())["done"])))
        ordered.place(frame).touch()

    class Running:
        config = SimpleNamespace(sandbox=None)

        def new_folder(self) -> Path:
            return tmp_path

        def __getattr__(self, _name: str) -> Any:
            return lambda *_: None

    monkeypatch.setattr(frames, "_take", take)
    monkeypatch.setattr(frames, "_spec", lambda *_: None)
    monkeypatch.setattr(frames.confinement, "current", Running)
    monkeypatch.setattr(frames.image, "answers", lambda *_: iter([{"frame": 2, "note": ""}]))
    for overwrite in (False, True):
        (tmp_path / "a_0002.png").unlink(missing_ok=True)
        ordered = frames.replace(made, overwrite=overwrite)
        frames._keep(tmp_path, ordered)
        frames._run(tmp_path, ordered, None, lambda *_: None, None)
    assert kept == [(False, (2,)), (True, ())]
