# SPDX-License-Identifier: GPL-3.0-or-later
"""What a render on a target costs here: to hand it on, by its frames, and to follow many; first against an engine that
answers at once, then by a real openjd and a real Slurm, where they are there."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bl_ext.user_default.mcp_bridge.base import jobs
from bl_ext.user_default.mcp_bridge.rendering.farms import bundle, collecting, follow, openjd, order
from bl_ext.user_default.mcp_bridge.rendering.farms import slurm as slurm_engine
from bl_ext.user_default.mcp_bridge.rendering.farms.engines import Seen, Task
from bl_ext.user_default.mcp_bridge.rendering.farms.order import FarmJob, State
from bl_ext.user_default.mcp_bridge.rendering.farms.targets import Target

from support.bench import Row
from support.services import farm, slurm

_JOBS = 1000


def rows() -> Iterator[Row]:
    for frames in (1_000, 10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            yield from _handed_on(Path(folder), frames)
    for found in (1_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            yield _looked(Path(folder), found)
    for number in (1, 100, _JOBS):
        with tempfile.TemporaryDirectory() as folder:
            yield _followed(Path(folder), number)
    yield from _by_openjd()
    if not slurm.missing():
        yield from _by_slurm()


def _job(folder: Path, frames: int) -> FarmJob:
    named = folder / "named"
    named.mkdir(exist_ok=True)
    return FarmJob(
        *("job", "bench", "Render", "here", str(named), "turn", tuple(range(1, frames + 1)), 10, 1.0, "4.2"),
        *(("blender",), (), (), False, False, str(folder / "job")),
    )


def _handed_on(folder: Path, frames: int) -> Iterator[Row]:
    job = _job(folder, frames)
    (folder / "scene.blend").write_bytes(b"BLENDER")
    tracemalloc.start()
    begin = time.perf_counter()
    bundle.write(job, folder / "scene.blend", Path(job.bundle))
    order.keep(folder, job, State(1, "17"))
    taken = time.perf_counter() - begin
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = sum(path.stat().st_size for path in Path(job.bundle).rglob("*") if path.is_file())
    yield Row(
        f"bundle of {frames:,} frames",
        taken * 1e3,
        "ms",
        "",
        f"{size / 1e6:.2f} MB, {peak / 1e6:.1f} MB memory",
    )


def _looked(folder: Path, found: int) -> Row:
    job = _job(folder, found)
    job.results.mkdir(parents=True)
    for frame in job.frames:
        (job.results / f"frame_{frame}.json").touch()
    known = set(job.frames)
    begin = time.perf_counter()
    collecting.look(job, known)
    return Row(f"a look at {found:,} frames that are home", (time.perf_counter() - begin) * 1e3, "ms")


class _AtOnce:
    """An engine that answers at once: everything goes on."""

    def look(self, _target: Target, engine_ids: Collection[str]) -> Mapping[str, Seen]:
        return dict.fromkeys(engine_ids, Seen(True))


def _followed(folder: Path, number: int) -> Row:
    follower: Any = follow._Follower()
    registry, target = jobs.Jobs(), Target("here", "openjd", {})
    for one in range(number):
        job = replace(_job(folder, 250), id=f"job{one}", bundle=str(folder / f"job{one}"))
        job.results.mkdir(parents=True)
        handle = registry.begin("render", job.title, job.owner, job_id=job.id)
        run = follow._Run(folder, job, State(1, str(one)), target, _AtOnce(), handle, set())  # type: ignore[arg-type]
        follower.runs[job.id] = run
    begin = time.perf_counter()
    for run, seen in follower._look():
        follower._step(run, seen)
    taken = time.perf_counter() - begin
    assert len(follower.runs) == number
    return Row(f"one look at {number:,} renders of 250 frames", taken * 1e3, "ms")


def _task(folder: Path, frames: int) -> Task:
    """A job whose bundle is written; its Blender is a program that ends at once."""
    job = replace(_job(folder, frames), command=("/bin/true",), bundle=str(folder / f"job{frames}"))
    (folder / "scene.blend").write_bytes(b"BLENDER")
    bundle.write(job, folder / "scene.blend", Path(job.bundle), "/bin/true")
    return Task(job, "frames", bundle.chunks_of(job.frames, job.chunk), 1)


def _by_openjd() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target = Target("here", "openjd", {"program": str(farm.openjd(folder))})
        for frames in (1_000, 10_000, 100_000):
            task = _task(folder, frames)
            begin = time.perf_counter()
            engine_id = openjd.submit(target, task)
            taken = time.perf_counter() - begin
            yield Row(
                f"handed to openjd: {frames:,} frames", taken * 1e3, "ms", "", f"{len(task.chunks)} tasks"
            )
            openjd.cancel(target, engine_id)


def _by_slurm() -> Iterator[Row]:
    """Its nodes are drained, so that jobs wait and can be counted."""
    with slurm.running() as running:
        running.ask("scontrol", "update", "nodename=n1,n2", "state=drain", "reason=measured")
        options = {"folder": str(running.folder), "config": str(running.config), "blender": "/bin/true"}
        target = Target("night", "slurm", options)
        for frames in (1_000, 10_000, 100_000):
            task = _task(running.folder, frames)
            begin = time.perf_counter()
            engine_id = slurm_engine.submit(target, task)
            taken = time.perf_counter() - begin
            yield Row(
                f"handed to Slurm: {frames:,} frames", taken * 1e3, "ms", "", f"{len(task.chunks)} tasks"
            )
            slurm_engine.cancel(target, engine_id)
        task, ids = _task(running.folder, 10), []
        for number in (1, 100, _JOBS):
            ids += [slurm_engine.submit(target, task) for _ in range(number - len(ids))]
            begin = time.perf_counter()
            seen = slurm_engine.look(target, ids)
            taken = time.perf_counter() - begin
            assert all(one.working for one in seen.values()), seen
            yield Row(f"one question to Slurm about {number:,} jobs", taken * 1e3, "ms")
