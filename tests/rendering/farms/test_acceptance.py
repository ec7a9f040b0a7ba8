# SPDX-License-Identifier: GPL-3.0-or-later
"""One animation on each engine, with Blender and a worker killed in the middle and a frame that fails for good.

Blender is a process of its own; an official client orders and follows. MCP_BRIDGE_FARM_FRAMES says how many frames;
250 is the full size.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import mcp
import pytest
from bl_ext.user_default.mcp_bridge.rendering.farms import order as orders
from mcp_types import ElicitResult

from support.bridges.serving import Served, serving
from support.clients.sdk import transport
from support.services import farm, slurm

FRAMES = int(os.environ.get("MCP_BRIDGE_FARM_FRAMES", "12"))
BROKEN, HALTING = FRAMES // 3, FRAMES // 2
#: Seconds that any part may take.
LONGEST = 60 + 3 * FRAMES
_SCENE = "bpy.context.scene.cycles.use_denoising = False"


@pytest.fixture(params=["openjd", "slurm"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The text of a setting that names the target `farm`."""
    with ExitStack() as stack:
        if request.param == "openjd":
            yield f'farm = openjd program="{farm.openjd(tmp_path)}"'
        else:
            if slurm.missing():
                pytest.skip(slurm.missing())
            running = stack.enter_context(slurm.running())
            shared = running.folder / "shared"
            shared.mkdir()
            blender = farm.blender(running.folder)
            yield f"farm = slurm folder={shared} config={running.config} blender={blender}"


def use(served: Served, work: Callable[[mcp.Client], Awaitable[Any]]) -> Any:
    """Do `work` with a client whose user says yes."""

    async def agree(_context: Any, _params: Any) -> Any:
        return ElicitResult(action="accept", content={})

    async def connected() -> Any:
        async with mcp.Client(transport("websocket", served), elicitation_callback=agree) as client:
            return await asyncio.wait_for(work(client), LONGEST)

    return asyncio.run(connected())


async def call(client: mcp.Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content or json.loads(result.content[0].text)


async def until(client: mcp.Client, job_id: str, wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    while not wanted(job := await call(client, "get_job", job_id=job_id)):
        assert job["state"] == "working", job
        await asyncio.sleep(0.2)
    return job


@pytest.mark.timeout(60 + 4 * LONGEST)
def test_nothing_is_lost(target: str, tmp_path: Path) -> None:
    named, policy = tmp_path / "named", tmp_path / "policy.toml"
    named.mkdir()
    policy.write_text(f"render_targets = {json.dumps(target)}\n", encoding="utf-8")
    env = {"BLENDER_MCP_FOLDERS": str(named), "BLENDER_MCP_POLICY_FILE": str(policy)}
    began = time.monotonic()

    async def order(client: mcp.Client) -> str:
        begun = await call(
            client,
            "render_animation",
            **{**farm.TINY, "path": "turn.png", "start": 1, "end": FRAMES, "where": "farm"},
        )
        return str(begun["job_id"])

    def home() -> Path:
        [found] = tmp_path.glob("blender/**/renders")
        return found

    with ExitStack() as stack:
        with serving(tmp_path, before=_SCENE, killed=True, **env) as served:
            job_id = use(served, order)
            [(job, _)] = orders.kept(home())
            farm.breaking_frame(job.results, BROKEN)
            halted = stack.enter_context(farm.halted_at(job.results, HALTING))
            use(served, lambda client: until(client, job_id, lambda job: job["render"]["done"] >= 3))
            halted(LONGEST)
        killed = farm.workers(job_id)
        assert killed, "no worker goes on without Blender"
        for worker in killed:
            os.kill(worker, signal.SIGKILL)
    there = {path.name: path.stat().st_mtime_ns for path in named.glob("*.png")}

    async def end(client: mcp.Client) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        found: list[dict[str, Any]] = []
        before = time.monotonic() + LONGEST
        while not any("render" in job for job in found) and time.monotonic() < before:
            await asyncio.sleep(0.1)  # Blender serves before it has heard from the farm again
            found = (await call(client, "list_jobs"))["jobs"]
        return found, await until(client, job_id, lambda job: job["state"] != "working")

    with serving(tmp_path, **env) as served:
        [found], ended = use(served, end)
    assert (found["job_id"], found["state"]) == (job_id, "working")
    assert found["render"]["frames"] == FRAMES
    assert len(there) <= found["render"]["done"] < FRAMES
    assert ended["state"] == "failed"
    [failure] = ended["render"]["failures"]
    assert failure["frame"] == BROKEN
    assert failure["worker"]
    assert "RuntimeError" in failure["why"]
    assert f"frame {BROKEN} on {failure['worker']}: " in ended["message"]
    expected = {f"turn_{frame:04d}.png" for frame in range(1, FRAMES + 1) if frame != BROKEN}
    assert {path.name for path in named.iterdir()} == expected
    assert {name: (named / name).stat().st_mtime_ns for name in there} == there, "rendered again"
    assert list(home().iterdir()) == []
    assert not Path(job.bundle).exists()
    print(
        f"{FRAMES} frames in {time.monotonic() - began:.0f} s, {len(there)} of them before the end of the first "
        f"Blender, {len(killed)} workers killed; {ended['message']}"
    )
