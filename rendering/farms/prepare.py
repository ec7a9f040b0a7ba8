# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a job from the open scene: a packed copy, and the time of one frame on this computer."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy

from ...base.errors import ExternalServiceError
from ...base.flag import Flag
from ...sandbox import confinement
from ...sandbox.confinement.process import Spec
from ...sandbox.rehearsal import program, snapshot
from .. import image
from . import bundle

__all__ = ("Copied", "Prepared", "copy_scene", "discard", "prepare")

#: The most seconds of the test frame.
MOST_TEST_S = 30.0
#: The best seconds of a task: in less, starting Blender is most of it; in more, a lost worker loses much.
_TASK_S = 120.0
_CHILD = "mcp_bridge.rendering.farms.packing"
_LONGEST_S = 3600.0


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of the scene in its own folder, and the command that starts Blender here."""

    id: str
    home: Path
    copy: snapshot.Snapshot
    blender: program.Program
    facts: dict[str, Any]
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A packed scene, with the facts that the user reads."""

    copied: Copied
    scene: Path
    #: The seconds of the test frame; None if it took too long.
    seconds: float | None
    samples: int
    outside: tuple[str, ...]
    missing: tuple[str, ...]
    #: What would run by itself if scripts were switched on.
    scripts: tuple[str, ...]
    version: str

    def chunk(self, workers: int) -> int:
        """Return how many frames one task should render if so many workers share them."""
        share = -(-len(self.copied.frames) // workers)
        return max(1, min(share, int(_TASK_S / (self.seconds or _TASK_S))))


def copy_scene(home: Path, frames: Sequence[int], **choice: Any) -> Copied:
    """Check the parameters and copy the scene into a folder below `home`. Main thread.

    `choice` are the parameters of `image.facts`. Raises InvalidParamsError for what does not exist,
    ExternalServiceError if the scene cannot be copied.
    """
    facts = image.facts(**choice)
    render_id = secrets.token_hex(8)
    folder = home / render_id
    folder.mkdir(parents=True)
    try:
        return Copied(render_id, home, snapshot.take(folder), program.find(), facts, tuple(frames))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def discard(copied: Copied) -> None:
    """Remove the copy, which is not needed."""
    shutil.rmtree(copied.home / copied.id, ignore_errors=True)


def prepare(copied: Copied, cancelled: Flag) -> Prepared:
    """Pack the copy and render one frame of it, in a confined Blender. Not for the main thread.

    Raises Cancelled, ExternalServiceError that says why it cannot be packed.
    """
    running = confinement.current()
    folder = running.new_folder()
    try:
        handle = running.start(_spec(copied, folder, running.config.sandbox.blender_mem_mb))
        try:
            packed, seconds = _follow(running, handle, cancelled)
        finally:
            running.kill(handle)
        scene = copied.home / copied.id / bundle.SCENE
        if (folder / bundle.SCENE).is_symlink():
            raise ExternalServiceError("The Blender that packed the scene left a link instead of a file.")
        shutil.copyfile(folder / bundle.SCENE, scene)
    finally:
        running.remove_folder(folder)
    copied.copy.remove()
    outside = [str(path) for path in packed["outside"]]
    missing = [str(path) for path in packed["missing"]]
    return Prepared(
        copied,
        scene,
        seconds,
        int(packed["samples"]),
        tuple(path for path in (*outside, *missing) if os.path.exists(path)),
        tuple(path for path in missing if not os.path.exists(path)),
        tuple(str(name)[:200] for name in packed["scripts"]),
        ".".join(map(str, bpy.app.version[:2])),
    )


class _TooLong(Exception):
    """Tells that the test frame takes too long to wait for."""


def _follow(running: Any, handle: Any, cancelled: Flag) -> tuple[dict[str, Any], float | None]:
    """Return what was packed, and the seconds of the test frame, None if it takes too long."""
    until = [float("inf")]

    def meanwhile() -> None:
        if time.monotonic() > until[0]:
            raise _TooLong

    told = image.answers(running, handle, cancelled, meanwhile)
    packed: dict[str, Any] = {}
    try:
        while True:
            packed = next(told)
            until[0] = time.monotonic() + MOST_TEST_S
    except StopIteration as done:
        return packed, float(done.value["seconds"])
    except _TooLong:
        return packed, None


def _spec(copied: Copied, folder: Path, memory_mb: int) -> Spec:
    kept = copied.home / copied.id
    middle = copied.frames[len(copied.frames) // 2]
    size_mb = sum(path.stat().st_size for path in (copied.copy.path, *copied.copy.files)) >> 20
    facts = {
        **copied.facts,
        "scene": str(copied.copy.path),
        "pixels": {name: str(path) for name, path in copied.copy.pixels.items()},
        "to": str(folder / bundle.SCENE),
        "frame": middle,
        "picture": str(folder / "test"),
        "main": _CHILD,
    }
    return Spec(
        copied.blender.command(**facts),
        folder,
        timeout_sec=_LONGEST_S,
        mem_limit_mb=4 * memory_mb + 16 * size_mb,
        disk_mb=512 + 3 * size_mb,
        cpu_sec=int(_LONGEST_S) * (os.cpu_count() or 1),
        net_policy="deny",
        allowed_hosts=(),
        readable=(*copied.blender.readable, kept, *copied.copy.files),
        env=(("BLENDER_USER_RESOURCES", str(folder / "blender")), ("PYTHONDONTWRITEBYTECODE", "1")),
        answers=True,
    )
