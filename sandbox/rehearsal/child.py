# SPDX-License-Identifier: GPL-3.0-or-later
"""The confined Blender of a rehearsal: it warms up, waits for one script, runs it, answers, and ends.

While it waits, it may already open a copy of a large scene, which it uses if the scene is still the same.

It runs the same code that runs a script live, in a copy of the scene, and compares. `pool.py` starts it with the
command line of `program.py`; the supervisor has confined it before its first instruction. Or it is a copy of a zygote,
which started in the same way and is warm: then the copy was confined just after the fork.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.errors import BridgeError, ExternalServiceError, LimitExceeded, failure_of
from ...base.process.resident_memory import peak_bytes, resident_bytes
from ..confinement import answering
from ..confinement.probe import EVERYTHING, in_force
from ..guard.measured import Measured
from ..language.analysis.reached import Reached
from ..run import watchdog
from ..run.wall import Armed
from .open_scene import OpenScene, marked, open_ahead, open_copy
from .protocol import MOST_UNREACHED, PICTURE_SIZE, Request, Save

if TYPE_CHECKING:
    from ...scene.changes.difference import Mark

__all__ = ("main",)

#: How many objects, and how many vertices, Cycles reads in a second: a picture that needs longer is not made.
_READ_IN_A_SECOND = {"objects": 3_000, "vertices": 1_000_000}
_NO_PICTURES = (
    "no pictures: {objects:,} objects with {vertices:,} vertices take too long to draw; the tool `look` draws the open "
    "scene"
)
#: The seconds after which a child ends that has a scene open and gets no script.
_KEEP_S = 600.0
_WARM_UP = "import bpy\nbpy.context.scene.frame_end = 10\n"
_MOST_RESULT = 200_000


def main(facts: dict[str, Any], say: answering.Say) -> None:
    """Run the child; never returns."""
    _no_more_programs()
    _settle()
    if facts["warm_up"]:
        _warm_up()
    if sys.platform == "linux":
        from ..confinement.linux import zygote

        if zygote.asked_for():
            watchdog.rest()
            zygote.serve(say)
            say = answering.opened()
            _move()
    canary = facts["canary"]
    say({"ready": True, "blender": _version(), "in_force": in_force(canary)})
    scene = None
    while line := _next_line(scene):  # none comes if the parent does not need the child, or has ended
        message, held = json.loads(line), in_force(canary)
        if set(held) != set(EVERYTHING):
            os._exit(4)
        if "script" in message:
            say({**_answer(message, scene), "in_force": held})
            break
        if "open" in message:
            with Armed(_keep_on, trusted=(open_ahead,)):
                scene = open_ahead(Path(message["open"]))
            say({"done": scene is not None})
        else:
            say({"done": scene is not None and scene.is_same(Path(message["compare"]))})
    os._exit(0)


def _answer(request: Request, scene: OpenScene | None) -> dict[str, Any]:
    try:
        with Armed(_keep_on, trusted=(rehearse,)):
            return rehearse(request, scene)
    except watchdog.ScriptStopped as stop:  # code that a script left behind raised this
        answer = _failed(stop.error, [], 0.0) | {"peak_memory_mb": _peak_memory_mb()}
        answer["seconds"] |= {"open": 0.0, "total": 0.0}
        return answer


def _next_line(scene: OpenScene | None) -> bytes:
    with nullcontext() if scene is None else scene.kept_for(_KEEP_S):
        return sys.stdin.buffer.readline()


def rehearse(request: Request, scene: OpenScene | None = None) -> dict[str, Any]:
    """Open the copy, unless `scene` is open; run the script in it, and return the answer."""
    begin = time.perf_counter()
    _set_limits(request)
    try:
        # a copy that will be saved keeps its windows
        warnings = [] if scene else open_copy(request["scene"], request["pixels"], load_ui="save" in request)
    except RuntimeError as error:
        cannot = ExternalServiceError(f"Blender could not open the file: {str(error).strip()}")
        answer, opened = _failed(cannot, [], 0.0), time.perf_counter()
    else:
        opened = time.perf_counter()
        answer = run(request, warnings, scene.before if scene else marked("before"))
    answer["seconds"] |= {"open": round(opened - begin, 4), "total": round(time.perf_counter() - begin, 4)}
    answer["peak_memory_mb"] = _peak_memory_mb()
    return answer


def run(request: Request, warnings: list[str], before: Mark) -> dict[str, Any]:
    """Run the script in the open scene, whose mark is `before`, between two pictures; return the answer."""
    from ...scene.changes import difference
    from ..run import execute

    pictures: dict[str, Any] = {}
    if request["pictures"]:
        if _is_quick_to_draw(before.totals):
            pictures["before"] = _picture()
        else:
            warnings = [*warnings, _NO_PICTURES.format(**before.totals)]
    growth, reached = Measured(rehearses=True), Reached()
    resident, peak = resident_bytes(), peak_bytes()
    began = time.perf_counter()
    try:
        done = execute.run(
            request["script"],
            request_id="rehearsal",
            title=request["title"],
            requester="rehearsal",
            level=request["level"],
            growth=growth,
            reached=reached,
        )
        _check_memory(request, growth, resident, peak)
        if "save" in request:
            _save(request["save"])
    except BridgeError as error:
        return _failed(error, warnings, time.perf_counter() - began)
    seconds = round(time.perf_counter() - began, 4)
    after = marked("after")
    if pictures and _is_quick_to_draw(after.totals):
        pictures["after"] = _picture()
    return {
        "outcome": "success",
        "result": _bounded(done["result"]),
        "stdout": done["stdout"],
        "warnings": [*warnings, *(str(warning)[:2000] for warning in done.get("warnings", ()))][:200],
        "seconds": {"script": seconds},
        "difference": difference.compare(before, after, _go_back),
        "pictures": {when: picture for when, picture in pictures.items() if picture},
        "growth": growth.to_report(),
        "unreached": reached.never()[:MOST_UNREACHED],
    }


def _check_memory(request: Request, growth: Measured, resident: int, peak: int) -> None:
    """Refuse a script that an estimate would not allow, if it takes more memory than scripts may in the open scene.

    resident, peak: the memory of this process before the script, and the most until then. Raises LimitExceeded.
    """
    if growth.estimates and sys.platform != "win32":  # on Windows the parent's limit decides
        most = peak_bytes() if peak_bytes() > peak else resident_bytes()
        used, limit = (most - resident) / 2**20, request["live_memory_limit_mb"]
        if used > limit:
            raise LimitExceeded(
                f"what it makes takes {used:,.0f} MiB of memory, more than the {limit:,} MiB that a script may use",
                limit="memory",
            )


def _failed(error: BridgeError, warnings: list[str], seconds: float) -> dict[str, Any]:
    return {
        "outcome": "error",
        "error": _error(error),
        "result": None,
        "stdout": "",
        "warnings": warnings,
        "seconds": {"script": round(seconds, 4)},
        "difference": None,
        "pictures": {},
    }


def _keep_on(_error: BridgeError) -> None:
    """Do nothing: an attempt ends the rehearsal anyway, and the wall raises one that the script swallowed."""


def _error(error: BridgeError) -> dict[str, Any]:
    failure = failure_of(error)
    return {
        "type": failure["error"],
        "cause": failure.get("cause"),
        "message": failure["message"][:2000],
        "line": failure.get("line"),
    }


def _no_more_programs() -> None:
    if sys.platform == "linux":
        from ..confinement.linux import seccomp

        seccomp.deny_exec()


def _settle() -> None:
    """Set up the child's own settings and journal, which end with it."""
    from ...base import journal

    journal.configure(Path(tempfile.gettempdir()) / "journal")


def _move() -> None:
    """Move from the zygote's work folder into this copy's own."""
    import bpy

    _settle()
    bpy.context.preferences.filepaths.temporary_directory = tempfile.gettempdir()


def _set_limits(request: Request) -> None:
    from ...base import settings

    names = ("level", "time_limit_s", "memory_limit_mb", "output_limit_kb")
    settings.set_arguments({name: request[name] for name in names})  # type: ignore[literal-required]


def _warm_up() -> None:
    """Rehearse something small, so that everything is loaded before the real script."""
    request = Request(
        scene="",
        pixels={},
        script=_WARM_UP,
        title="",
        level="blender",
        time_limit_s=60.0,
        memory_limit_mb=1024,
        output_limit_kb=64,
        live_memory_limit_mb=1024,
        pictures=True,
    )
    _set_limits(request)
    run(request, [], marked("before"))


def _save(how: Save) -> None:
    """Save a copy into the folder of this child. Raises ExternalServiceError."""
    import bpy

    try:
        if not how["relative"]:
            bpy.ops.file.make_paths_absolute()
        bpy.ops.wm.save_as_mainfile(
            filepath=str(Path(tempfile.gettempdir()) / how["name"]),
            copy=True,
            compress=how["compress"],
            relative_remap=False,
            check_existing=False,
        )
    except RuntimeError as error:
        raise ExternalServiceError(f"Blender could not save the copy: {error}") from None


def _is_quick_to_draw(totals: dict[str, int]) -> bool:
    return sum(totals[what] / count for what, count in _READ_IN_A_SECOND.items()) <= 1


def _picture() -> dict[str, Any] | None:
    """Return the scene as pixels, or None if it cannot be rendered."""

    from ...scene.look import bitmap, picture

    try:
        # A copy of a zygote has no worker threads; Cycles starts its own if it knows how many.
        shot = picture.render(max_size=PICTURE_SIZE, picture_format="bmp", threads=_processors())
    except ExternalServiceError:
        return None
    width, height, pixels = bitmap.rgb(shot.data)
    return {"width": width, "height": height, "rgb": base64.b64encode(pixels).decode()}


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _go_back() -> None:
    """Undo the script, whose run is one undo step."""
    import bpy

    from ..run.undo import Modes

    Modes.leave()
    bpy.ops.ed.undo()


def _bounded(result: Any) -> Any:
    text = json.dumps(result)
    return (
        result if len(text) <= _MOST_RESULT else f"{text[:_MOST_RESULT]}… ({len(text):,} characters of JSON)"
    )


def _peak_memory_mb() -> float:
    if sys.platform == "win32":
        return 0.0  # the parent reads it from the job object
    return round(peak_bytes() / 2**20, 1)


def _version() -> str:
    import bpy

    return str(bpy.app.version_string)
