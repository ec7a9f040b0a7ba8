# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm: an array of tasks by `sbatch`, followed by `squeue`, ended by `scancel`. Workers see the shared folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ...base import atomic
from ...base.errors import ExternalServiceError
from ...sandbox.confinement import named
from . import bundle
from .engines import Seen, Task
from .order import FarmJob
from .targets import Target

__all__ = ("FILES", "VIDEO", "WORKERS", "blender", "cancel", "look", "start", "submit")

VIDEO, FILES, WORKERS = True, True, 8
_SCRIPT = "slurm.sh"
#: The most seconds of one of Slurm's commands.
_LONGEST_S = 30.0
#: The most ids in one question: a command line has its limits.
_MOST_IDS = 1000
_CHUNK = "SLURM_ARRAY_TASK_ID"
_HEAD = """\
#!/bin/sh
# One task of a render: Slurm says which chunk of frames. Scripts in the .blend are not run.
export PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
export BLENDER_USER_RESOURCES="${TMPDIR:-/tmp}/mcp_bridge_$SLURM_JOB_ID"
"""
#: The error of a command about jobs that Slurm has forgotten.
_FORGOTTEN = "Invalid job id"
_FIELD = re.compile(r"(\w+)=(\S*)")


def blender(target: Target, _job: FarmJob) -> str:
    """Return the program of Blender that the target names."""
    return target.blender


def start(_job: FarmJob) -> Sequence[str]:
    """Return Blender's own arguments."""
    return bundle.BLENDER


def submit(target: Target, task: Task) -> str:
    """Submit a task by `sbatch`; return the job's number. Raises ExternalServiceError with Slurm's own words."""
    job, folder = task.job, Path(task.job.bundle)
    atomic.write(folder / _SCRIPT, _script(target, task).encode())
    cmd = [
        *(
            "sbatch",
            "--parsable",
            "--requeue",
            f"--job-name={bundle.job_name(job.title)}",
            f"--chdir={folder}",
        ),
        *("--export=PATH,HOME,LANG", "--open-mode=truncate"),
        *(
            f"--{option}={target.options[option]}"
            for option in ("partition", "account")
            if option in target.options
        ),
    ]
    if task.step == "frames":
        cmd += [f"--array=0-{len(task.chunks) - 1}", "--output=results/task_%a.log"]
    else:
        cmd += ["--output=results/video.log"]
    said = _run(target, [*cmd, str(folder / _SCRIPT)]).strip()
    number = said.partition(";")[0]
    if not number.isdecimal():
        raise ExternalServiceError(f"sbatch answered {said[:200]!r} instead of a job's number.")
    return number


def look(target: Target, engine_ids: Collection[str]) -> Mapping[str, Seen]:
    """Return the state of these jobs: those that `squeue` lists run; waiting tasks are one line of it."""
    ids = list(engine_ids)
    live: set[str] = set()
    for at in range(0, len(ids), _MOST_IDS):
        asked = ",".join(ids[at : at + _MOST_IDS])
        listed = _run(target, ["squeue", "--noheader", "--format=%F", f"--jobs={asked}"], forgotten="")
        live |= {line.strip() for line in listed.splitlines()}
    return {
        engine_id: Seen(True) if engine_id in live else Seen(False, _why(target, engine_id))
        for engine_id in ids
    }


def cancel(target: Target, engine_id: str) -> None:
    """End all tasks of a job."""
    _run(target, ["scancel", engine_id], forgotten="")


def _script(target: Target, task: Task) -> str:
    folder = Path(task.job.bundle)
    values = bundle.parameters(task.job, folder, len(task.chunks), task.attempt, target.blender)
    words = [word.replace("{}", values["Script"]) for word in bundle.BLENDER]
    words += bundle.arguments(task.job, task.step, values | {"Chunk": _CHUNK})
    quoted = [f'"${_CHUNK}"' if word == _CHUNK else shlex.quote(word) for word in (target.blender, *words)]
    return f"{_HEAD}exec {' '.join(quoted)}\n"


def _why(target: Target, engine_id: str) -> str:
    """Return what happened to the tasks that failed."""
    listed = _run(target, ["scontrol", "show", "job", "--oneliner", engine_id], forgotten="")
    found = []
    for line in listed.splitlines():
        fields = dict(_FIELD.findall(line))
        if fields.get("JobState", "COMPLETED") != "COMPLETED":
            found.append(
                f"task {fields.get('ArrayTaskId', engine_id)} on {fields.get('NodeList', '?')}: "
                f"{fields['JobState']}, exit code {fields.get('ExitCode', '?')}"
            )
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return "; ".join(found[:3]) + more or "Slurm has ended the job"


def _run(target: Target, cmd: Sequence[str], *, forgotten: str | None = None) -> str:
    """Return a command's output; `forgotten` if Slurm no longer knows the job. Raises ExternalServiceError."""
    env = {"SLURM_CONF": target.options["config"]} if "config" in target.options else {}
    done = named.run(cmd, seconds=_LONGEST_S, most=8 << 20, env=env)
    if done.code != 0:
        if forgotten is not None and _FORGOTTEN in done.errors:
            return forgotten
        said = " ".join((done.errors or done.output).split())[:500]
        raise ExternalServiceError(f"{cmd[0]} failed: {said or f'exit code {done.code}'}")
    return done.output
