# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders a picture in a separate Blender, with progress and a cancel at any time, while the user can work.

`prepare` copies the scene on Blender's main thread; `run` does the rest on any other thread.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import bpy

from ..base.errors import Cancelled, ExternalServiceError, InvalidParamsError
from ..base.flag import Flag
from ..sandbox import confinement as supervisor
from ..sandbox.confinement import Supervisor
from ..sandbox.confinement.process import Spec
from ..sandbox.rehearsal import program, snapshot
from ..scene.describe.overview import find
from ..scene.look.picture import Format
from .child import PREVIEW
from .pace import Pace

__all__ = ("CHILD", "Engine", "Picture", "Plan", "answers", "facts", "prepare", "run", "slot")

#: The most seconds of a render.
_LONGEST_S = 4 * 3600
#: Seconds between two checks of a running render.
_POLL_S = 0.1
#: The most renders at the same time; each uses all cores and much memory.
_AT_ONCE = 2
CHILD = "mcp_bridge.rendering.child"
_PICTURE = "render"

Engine = Literal["CYCLES", "EEVEE", "WORKBENCH"]

_slots = threading.BoundedSemaphore(_AT_ONCE)

#: Called with the number of finished samples, and the number of all samples.
Report = Callable[[float, float], None]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Plan:
    """The checked parameters, and the copy to render from, which is removed together with the plan."""

    program: program.Program
    copy: snapshot.Snapshot
    facts: dict[str, Any]
    title: str
    #: Captured by `prepare`: a late render must not start a new supervisor after shutdown.
    supervisor: Supervisor


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in the format of its plan. `note` names any difference from the request.

    `preview` is a small JPEG if the picture is too large for a result, else empty.
    """

    data: bytes
    width: int
    height: int
    seconds: float
    engine: str
    note: str
    preview: bytes = b""


def prepare(
    *,
    camera: str | None = None,
    engine: Engine = "CYCLES",
    resolution: Sequence[int] | None = None,
    samples: int | None = None,
    frame: int | None = None,
    picture_format: Format | None = None,
    most_bytes: int | None = None,
) -> Plan:
    """Check the parameters and copy the scene; a parameter that is None keeps the scene's value. Main thread.

    A picture with more than `most_bytes` gets a preview; None: never.

    Raises InvalidParamsError for a camera or an engine that does not exist, ExternalServiceError if the scene cannot be
    copied.
    """
    found = facts(camera=camera, engine=engine, resolution=resolution, samples=samples)
    scene: Any = bpy.context.scene
    found["frame"] = scene.frame_current if frame is None else frame
    found["most_bytes"] = most_bytes
    found["format"] = picture_format or ("png" if scene.render.film_transparent else "jpeg")
    here = supervisor.current()
    plan = Plan(program.find(), snapshot.take(here.shared_folder()), found, f"Render of {scene.name}", here)
    weakref.finalize(plan, plan.copy.remove)
    return plan


def facts(
    *, camera: str | None, engine: Engine, resolution: Sequence[int] | None, samples: int | None
) -> dict[str, Any]:
    """Return the parameters for the child process; None keeps the scene's value. Main thread.

    Raises InvalidParamsError for a camera or an engine that does not exist.
    """
    scene: Any = bpy.context.scene
    settings = scene.render
    chosen = _camera(scene, camera)
    width, height = resolution or (
        max(4, settings.resolution_x * settings.resolution_percentage // 100),
        max(4, settings.resolution_y * settings.resolution_percentage // 100),
    )
    return {
        "scene_name": scene.name,
        "camera": chosen,
        "engine": _engine(scene, engine),
        "resolution": [width, height],
        "samples": samples,
    }


def run(plan: Plan, report: Report, cancelled: Flag) -> Picture:
    """Render the plan. Blocks until the picture is done; never on the main thread.

    Raises Cancelled, or ExternalServiceError with the reason why there is no picture.
    """
    try:
        with slot():
            return _run(plan, report, cancelled)
    finally:
        plan.copy.remove()


@contextmanager
def slot() -> Iterator[None]:
    """Take one of the `_AT_ONCE` places for renders. Raises ExternalServiceError if all are taken."""
    if not _slots.acquire(blocking=False):
        raise ExternalServiceError(f"{_AT_ONCE} renders are under way: wait for one of them, or cancel it.")
    try:
        yield
    finally:
        _slots.release()


def _run(plan: Plan, report: Report, cancelled: Flag) -> Picture:
    running = plan.supervisor
    folder = running.new_folder()
    try:
        handle = running.start(_spec(plan, folder, running))
        try:
            answer = _follow(running, handle, report, cancelled)
        finally:
            running.kill(handle)
        # Use only the last part of the child's path: otherwise the child could choose which file this Blender reads.
        data = (folder / Path(answer["done"]).name).read_bytes()
        small = folder / PREVIEW
        preview = small.read_bytes() if small.exists() else b""
    finally:
        running.remove_folder(folder)
    width, height = plan.facts["resolution"]
    return Picture(data, width, height, answer["seconds"], plan.facts["engine"], answer["note"], preview)


def _follow(running: Any, handle: Any, report: Report, cancelled: Flag) -> dict[str, Any]:
    """Pass on the progress until the render is done."""
    pace = Pace(report)
    told = answers(running, handle, cancelled, pace.meanwhile)
    while True:
        try:
            answer = next(told)
        except StopIteration as done:
            return dict(done.value)
        pace.report_samples(answer["progress"], answer["total"])


def answers(
    running: Any, handle: Any, cancelled: Flag, meanwhile: Callable[[], None] = lambda: None
) -> Generator[dict[str, Any], None, dict[str, Any]]:
    """Yield the child's answers one after the other, and return the last one, with `done`.

    Calls `meanwhile` while no answer comes. Raises Cancelled, and ExternalServiceError if the child failed or ended.
    """
    while True:
        if cancelled.is_set():
            raise Cancelled
        try:
            line = running.receive(handle, _POLL_S)
        except TimeoutError:
            meanwhile()
            continue
        if line is None:
            raise ExternalServiceError(_what_became_of_it(running, handle))
        answer = json.loads(line)
        if "error" in answer:
            raise ExternalServiceError(
                f"Blender could not render: {answer['error']} (CYCLES needs no graphics card.)"
            )
        if "done" in answer:
            return dict(answer)
        yield answer


def _what_became_of_it(running: Any, handle: Any) -> str:
    status = running.wait(handle, 2.0)
    why = status.reason or f"exit code {status.exit_code}"
    printed = running.last_words(handle)
    return f"The Blender that rendered has ended without a picture ({why}){printed}. {status.detail}".strip()


def _spec(plan: Plan, folder: Path, running: Any) -> Spec:
    sandbox = running.config.sandbox
    size_mb = plan.copy.size >> 20
    facts = {
        **plan.facts,
        "scene": str(plan.copy.path),
        "pixels": {name: str(path) for name, path in plan.copy.pixels.items()},
        "picture": str(folder / _PICTURE),
    }
    return Spec(
        plan.program.command(main=CHILD, **facts),
        folder,
        timeout_sec=_LONGEST_S,
        mem_limit_mb=4 * sandbox.blender_mem_mb + 16 * size_mb,
        disk_mb=sandbox.disk_mb,
        cpu_sec=_LONGEST_S * (os.cpu_count() or 1),
        net_policy="deny",
        allowed_hosts=(),
        readable=(*plan.program.readable, running.shared_folder(), *plan.copy.files),
        env=(("BLENDER_USER_RESOURCES", str(folder / "blender")), ("PYTHONDONTWRITEBYTECODE", "1")),
        answers=True,
    )


def _camera(scene: Any, name: str | None) -> str | None:
    if name is not None:
        camera = find(bpy.data.objects, name, "object")
        if camera.type != "CAMERA":
            cameras = [one.name for one in bpy.data.objects if one.type == "CAMERA"]
            raise InvalidParamsError(f"{name!r} is no camera. Cameras: {', '.join(cameras) or 'none'}")
        return name
    if scene.camera is None:
        raise InvalidParamsError("The scene has no camera: add one, or name one as `camera`.")
    return None


def _engine(scene: Any, name: Engine) -> str:
    """Return the engine's identifier in this version of Blender."""
    if name == "CYCLES":
        if not hasattr(scene, "cycles"):
            raise InvalidParamsError("Cycles is switched off: enable the add-on Cycles Render Engine.")
        return name
    if name == "WORKBENCH":
        return "BLENDER_WORKBENCH"
    # BLENDER_EEVEE_NEXT from 4.2 to 4.5, BLENDER_EEVEE since 5.0
    return "BLENDER_EEVEE_NEXT" if bpy.app.version < (5, 0, 0) else "BLENDER_EEVEE"
