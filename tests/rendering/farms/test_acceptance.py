# SPDX-License-Identifier: GPL-3.0-or-later
"""One animation on each engine, with a worker killed, the bridge restarted and a frame that fails for good.

MCP_BRIDGE_FARM_FRAMES says how many frames; 250 is the full size.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base import folders
from bl_ext.user_default.mcp_bridge.rendering.farms import order as orders

from support import farm, slurm
from support.tool_calls import Tools

FRAMES = int(os.environ.get("MCP_BRIDGE_FARM_FRAMES", "12"))
BROKEN, HALTING = FRAMES // 3, FRAMES // 2


@pytest.fixture(params=["openjd", "slurm"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "openjd":
            farm.set_up(tmp_path, monkeypatch, f'farm = openjd program="{farm.openjd(tmp_path)}"')
        else:
            if slurm.missing():
                pytest.skip(slurm.missing())
            running = stack.enter_context(slurm.running())
            shared = running.folder / "shared"
            shared.mkdir()
            farm.set_up(
                tmp_path,
                monkeypatch,
                f"farm = slurm folder={shared} config={running.config} blender={farm.blender(running.folder)}",
            )
        yield str(request.param)


def test_nothing_is_lost(engine: str, tmp_path: Path, connect: Callable[[], Tools]) -> None:
    named, tools = tmp_path / "named", connect()
    job_id = farm.order(tools, path="turn.png", start=1, end=FRAMES, where="farm")
    [(job, _)] = orders.kept(folders.user_folder() / "renders")
    farm.breaking_frame(job.results, BROKEN)
    with farm.halted_at(job.results, HALTING) as halted:
        farm.until(tools, job_id, lambda job: job["render"]["done"] >= 3)
        halted()
        killed = farm.workers(job_id)
        assert killed
        for worker in killed:
            os.kill(worker, signal.SIGKILL)
    there = {path.name: path.stat().st_mtime_ns for path in named.glob("*.png")}
    tools.stop()

    tools = connect()
    found = {job["job_id"]: job["state"] for job in tools("list_jobs")["jobs"]}
    assert found[job_id] == "working"
    ended = farm.ended(tools, job_id)
    assert ended["state"] == "failed"
    [failure] = ended["render"]["failures"]
    assert failure["frame"] == BROKEN
    assert failure["worker"]
    assert "RuntimeError" in failure["why"]
    assert f"frame {BROKEN} on {failure['worker']}: " in ended["message"]
    expected = {f"turn_{frame:04d}.png" for frame in range(1, FRAMES + 1) if frame != BROKEN}
    assert {path.name for path in named.iterdir()} == expected
    assert {name: (named / name).stat().st_mtime_ns for name in there} == there
    assert list((folders.user_folder() / "renders").iterdir()) == []
    if engine == "slurm":
        assert list(Path(job.bundle).parent.iterdir()) == []
