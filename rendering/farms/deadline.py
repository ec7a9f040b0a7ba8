# SPDX-License-Identifier: GPL-3.0-or-later
"""AWS Deadline Cloud: submits the bundle by its own command, `deadline bundle submit`, with the user's own login.

Not tested against AWS. In the tests, Deadline's library reads the bundle; this module reads its command's output by
the form in its source. This computer gets the pictures after the job, by `deadline job download-output`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Mapping, Sequence

from ...base.errors import ExternalServiceError
from ...sandbox.confinement import named
from . import bundle
from .engines import Seen, Task
from .order import FarmJob
from .targets import Target

__all__ = ("FILES", "VIDEO", "WORKERS", "blender", "cancel", "look", "start", "submit")

VIDEO, FILES, WORKERS = False, True, 8
#: The most seconds for a question, and for a transfer.
_ASK_S, _TRANSFER_S = 60.0, 900.0
_ID = re.compile(r"\bjob-[0-9a-f]{32}\b")
_STATUS = re.compile(r"^taskRunStatus:\s*(\w+)", re.MULTILINE)
_ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELED", "SUSPENDED", "NOT_COMPATIBLE"})


def blender(target: Target, _job: FarmJob) -> str:
    """Return the program of Blender that the target names."""
    return target.blender


def start(_job: FarmJob) -> Sequence[str]:
    """Return Blender's own arguments."""
    return bundle.BLENDER


def submit(target: Target, task: Task) -> str:
    """Submit the bundle; return Deadline's id. Raises ExternalServiceError with Deadline's own words."""
    said = _run(
        target,
        ("bundle", "submit", task.job.bundle, "--yes", "--submitter-name", "MCP Bridge"),
        _TRANSFER_S,
    )
    found = _ID.search(said)
    if found is None:
        raise ExternalServiceError(f"deadline named no job: {said[-200:].strip()!r}")
    return found[0]


def look(target: Target, engine_ids: Collection[str]) -> Mapping[str, Seen]:
    """Return the state of these jobs; download the pictures of a job that has ended."""
    return {engine_id: _state_of(target, engine_id) for engine_id in engine_ids}


def cancel(target: Target, engine_id: str) -> None:
    """End all tasks of a job."""
    _run(target, ("job", "cancel", "--job-id", engine_id, "--yes"), _ASK_S)


def _state_of(target: Target, engine_id: str) -> Seen:
    status = _STATUS.search(_run(target, ("job", "get", "--job-id", engine_id), _ASK_S))
    if status is None or status[1] not in _ENDED:
        return Seen(True)
    _run(target, ("job", "download-output", "--job-id", engine_id, "--yes"), _TRANSFER_S)
    return Seen(False, f"Deadline says {status[1]}")


def _run(target: Target, words: Sequence[str], seconds: float) -> str:
    name = target.options.get("program", "deadline")
    command = shutil.which(name)
    if command is None:
        raise ExternalServiceError(
            f"There is no program {name!r} on the PATH: `pipx install deadline` installs it, or the target names "
            "where it is (program=/path/to/deadline)."
        )
    chosen = [
        f"--{option}-id={target.options[option]}" for option in ("farm", "queue") if option in target.options
    ]
    done = named.run((command, *words, *chosen), seconds=seconds, most=8 << 20)
    if done.code != 0:
        said = " ".join((done.errors or done.output).split())[-500:]
        raise ExternalServiceError(f"deadline failed: {said or f'exit code {done.code}'}")
    return done.output
