# SPDX-License-Identifier: GPL-3.0-or-later
"""This computer as a target: `openjd run`, which the user has installed. It continues while Blender is closed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ...base import atomic
from ...base.errors import ExternalServiceError
from ...sandbox.confinement import named
from . import bundle, collecting
from .engines import Seen, Task
from .order import FarmJob
from .targets import Target

__all__ = ("FILES", "VIDEO", "WORKERS", "blender", "cancel", "look", "program", "start", "submit")

VIDEO, FILES, WORKERS = True, True, 1
_PARAMETERS, _LOG, _LOCK = "parameters.json", "openjd.log", "openjd.lock"
_MOST_LOG = 64 << 20
#: The text at the end of its output if all went well.
_WELL = "Session ended successfully"


def program(target: Target) -> str:
    """Return the `openjd` command. Raises ExternalServiceError that says how to get it."""
    name = target.options.get("program", "openjd")
    found = shutil.which(name)
    if found is None:
        raise ExternalServiceError(
            f"There is no program {name!r} on the PATH: `pipx install openjd-cli` installs it, or the target names "
            "where it is (program=/path/to/openjd)."
        )
    return found


def blender(_target: Target, job: FarmJob) -> str:
    """Return this computer's Blender, or its Python if Blender is the `bpy` module."""
    return job.command[0]


def start(job: FarmJob) -> Sequence[str]:
    """Return Blender's own arguments, or those of a Python with the `bpy` module."""
    return bundle.BLENDER if "--background" in job.command else ("-s", "-P", "-B", "{}", "--")


def submit(target: Target, task: Task) -> str:
    """Start the job. Its id is the process's id and its working folder. Raises ExternalServiceError."""
    job, folder = task.job, Path(task.job.bundle)
    command = program(target)
    values = bundle.parameters(job, folder, len(task.chunks), task.attempt, blender(target, job))
    if not job.files:
        values |= {
            "FramesFolder": job.folder,
            "FramesPattern": job.place(0).name.removesuffix("0000.png") + "#.png",
        }
    atomic.write(folder / _PARAMETERS, json.dumps(values, indent=2).encode())
    step = ("--step", bundle.step_name(job, task.step), "--no-run-dependencies")
    pid = named.start(
        (
            command,
            "run",
            str(folder / "template.json"),
            *step,
            "--job-param",
            f"file://{folder / _PARAMETERS}",
        ),
        log=folder / _LOG,
        lock=folder / _LOCK,
    )
    return f"{pid} {folder}"


def look(_target: Target, engine_ids: Collection[str]) -> Mapping[str, Seen]:
    """Return the state of these processes."""
    return {engine_id: _state_of(*_parts(engine_id)) for engine_id in engine_ids}


def cancel(_target: Target, engine_id: str) -> None:
    """End the process, which ends what it started."""
    pid, folder = _parts(engine_id)
    named.end(pid, folder / _LOCK)


def _parts(engine_id: str) -> tuple[int, Path]:
    pid, _, folder = engine_id.partition(" ")
    return int(pid), Path(folder)


def _state_of(pid: int, folder: Path) -> Seen:
    if named.lives(pid, folder / _LOCK):
        return Seen(True)
    printed = (collecting.read_bounded(folder / _LOG, _MOST_LOG) or b"").decode("utf-8", "replace")
    if _WELL in printed[-2000:]:
        return Seen(False, "it ended without an error")
    told = [line.partition("\t")[2] for line in printed.splitlines() if "\t" in line]
    said = [line for line in told if "exited with code" in line or "ERROR" in line or "Error" in line]
    return Seen(False, f"openjd ended early: {' '.join((said or told)[-2:])[-500:] or 'it was killed'}")
