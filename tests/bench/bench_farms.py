# SPDX-License-Identifier: GPL-3.0-or-later
"""What a render on a target costs here: to hand it on, by its frames; to follow many, against an engine that answers
at once; the engine itself is left out."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bl_ext.user_default.mcp_bridge.base import jobs
from bl_ext.user_default.mcp_bridge.rendering.farms import bundle, collecting, follow, order
from bl_ext.user_default.mcp_bridge.rendering.farms.engines import Seen
from bl_ext.user_default.mcp_bridge.rendering.farms.order import FarmJob, State
from bl_ext.user_default.mcp_bridge.rendering.farms.targets import Target

from support.bench import Row

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
