# SPDX-License-Identifier: GPL-3.0-or-later
"""Small animations for render targets, and functions with which a client orders and follows them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest

from support.clients.tool_calls import Tools

__all__ = (
    "TINY",
    "YES",
    "blender",
    "breaking_frame",
    "ended",
    "halted_at",
    "openjd",
    "order",
    "question",
    "scene",
    "set_up",
    "until",
    "workers",
)

TINY = {"resolution": [32, 18], "samples": 1}
YES = {"action": "accept", "content": {}}


def set_up(folder: Path, monkeypatch: pytest.MonkeyPatch, targets: str) -> Path:
    """Name a folder for files, and the targets in a policy file; return the folder."""
    named = folder / "named"
    named.mkdir()
    monkeypatch.setenv("BLENDER_MCP_FOLDERS", str(named))
    policy = folder / "policy.toml"
    policy.write_text(f"render_targets = {json.dumps(targets)}\n", encoding="utf-8")
    monkeypatch.setenv("BLENDER_MCP_POLICY_FILE", str(policy))
    return named


def openjd(folder: Path) -> Path:
    """Return an `openjd` command for this environment's module `openjd`.

    Skips the test without that module.
    """
    pytest.importorskip("openjd.cli", reason="needs openjd-cli in this environment")
    return _program(folder / "openjd", f'exec {sys.executable} -m openjd "$@"\n')


def blender(folder: Path) -> Path:
    """Return a program with the name of Blender's that starts the `bpy` module, with a worker's arguments."""
    return _program(
        folder / "blender",
        'while [ "$1" != --python ]; do shift; done\n'
        "script=$2; shift 2\n"
        f'exec {sys.executable} -s -P -B "$script" "$@"\n',
    )


def _program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    return path


def workers(job_id: str) -> list[int]:
    """Return the Blenders that render this job."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            if any(word.endswith("worker.py") and job_id in word for word in words) and "run" not in words:
                found.append(int(path.parent.name))
    return found


def scene() -> None:
    """Make a camera before a lamp whose light changes from frame to frame."""
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location.z = 8
    bpy.context.scene.collection.objects.link(camera)
    bpy.context.scene.camera = camera
    bpy.context.scene.cycles.use_denoising = False
    bpy.ops.mesh.primitive_plane_add(size=20)


def question(tools: Tools, **arguments: Any) -> tuple[str, Callable[[dict[str, Any]], Any]]:
    """Return the question to the user about `render_animation`, and a function that answers it."""
    given = {**TINY, **arguments}
    first = tools.raw("render_animation", given)
    assert "inputRequests" in first, first
    [(key, request)] = first["inputRequests"].items()

    def answer(said: dict[str, Any]) -> Any:
        return tools.raw(
            "render_animation", given, inputResponses={key: said}, requestState=first["requestState"]
        )

    return request["params"]["message"], answer


def order(tools: Tools, **arguments: Any) -> str:
    """Order an animation, with the user's yes; return the job's id."""
    _, answer = question(tools, **arguments)
    begun = answer(YES)
    assert not begun.get("isError"), begun
    return str(begun["structuredContent"]["job_id"])


def until(
    tools: Tools, job_id: str, wanted: Callable[[dict[str, Any]], bool], seconds: float = 120
) -> dict[str, Any]:
    """Ask for a job until `wanted` accepts it."""
    end = time.monotonic() + seconds
    while True:
        job = tools("get_job", job_id=job_id, wait_seconds=0.2)
        if wanted(job):
            return job
        assert job["state"] == "working", job
        assert time.monotonic() < end, job


def ended(tools: Tools, job_id: str, seconds: float = 120) -> dict[str, Any]:
    """Return the job after its end."""
    end = time.monotonic() + seconds
    while (job := tools("get_job", job_id=job_id, wait_seconds=5))["state"] == "working":
        assert time.monotonic() < end, job
    return job


def breaking_frame(results: Path, frame: int) -> None:
    """Make a frame fail on every worker: put a folder in its picture's place."""
    (results / f"frame_{frame}.part.png").mkdir(parents=True)
    os.chmod(results, 0o777)


@contextlib.contextmanager
def halted_at(results: Path, frame: int) -> Iterator[Callable[[], None]]:
    """Stop a worker at a frame while the block lasts; yield a function that waits until one has stopped.

    A worker first reads the report on a frame: this makes a pipe there, into which nobody writes.
    """
    pipe = results / f"frame_{frame}.json"
    os.mkfifo(pipe, 0o666)
    with contextlib.ExitStack() as stack:
        stack.callback(pipe.unlink)

        def wait(seconds: float = 120) -> None:
            end = time.monotonic() + seconds
            while True:
                assert time.monotonic() < end, f"no worker came to frame {frame}"
                with contextlib.suppress(OSError):  # no worker reads yet
                    stack.callback(os.close, os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                    return
                time.sleep(0.05)

        yield wait
