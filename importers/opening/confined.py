# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program in a confined Blender without a window: no network, one folder to write to, limits. Worker threads."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import bpy

from ...base.errors import ExternalServiceError
from ...base.flag import Flag
from ...sandbox.confinement import ProcessStatus, Spec, Supervisor
from ..network.transport import Cancelled

__all__ = ("run",)

#: Seconds that opening a file may take, and MB that the folder may contain afterwards.
_TIME_S = 300.0
_DISK_MB = 8192
_LOOK_S = 0.1
_EXPLANATIONS = {
    "timed out": f"it took longer than {_TIME_S:.0f} s",
    "out of memory": "it needs more memory than a file may",
    "disk full": "it unpacks to more than a file may",
}


def run(here: Supervisor, program: str, folder: Path, cancelled: Flag | None) -> bytes:
    """Run the Python program `folder/program`, which gets the folder and may use nothing else.

    Returns its first answer (`answering.opened`), or empty bytes if there is none.

    Raises ExternalServiceError if it failed or was stopped, Cancelled.
    """
    spec = Spec(
        tuple(_command(folder / program, [str(folder)])),
        folder,
        timeout_sec=_TIME_S,
        mem_limit_mb=here.config.sandbox.blender_mem_mb,
        disk_mb=_DISK_MB,
        cpu_sec=int(_TIME_S),
        net_policy="deny",
        allowed_hosts=(),
        env=(("BLENDER_USER_RESOURCES", str(folder / "blender")),),
        answers=True,
    )
    handle = here.start(spec)
    while (status := here.wait(handle, _LOOK_S)).state == "running":
        if cancelled is not None and cancelled.is_set():
            here.kill(handle)
            raise Cancelled("Cancelled.")
    if status.state != "exited" or status.exit_code != 0:
        raise ExternalServiceError(f"The file could not be opened: {_why(status)}{here.last_words(handle)}.")
    return here.receive(handle, _LOOK_S) or b""


def _why(status: ProcessStatus) -> str:
    if status.reason in _EXPLANATIONS:
        return _EXPLANATIONS[status.reason]
    ended = f"exit code {status.exit_code}" if status.signal is None else f"signal {status.signal}"
    more = f" ({status.detail})" if status.detail else ""
    return f"the process that reads it ended by {status.reason or ended}{more}"


def _command(script: Path, arguments: Sequence[str]) -> list[str]:
    """The command line of this Blender, with factory settings and without running scripts from files."""
    if not bpy.app.binary_path:  # Blender is a Python module here
        return [sys.executable, "-I", str(script), *arguments]
    quiet = ["--background", "--factory-startup", "--disable-autoexec", "--offline-mode"]
    return [bpy.app.binary_path, *quiet, "--python-exit-code", "1", "--python", str(script), "--", *arguments]
