# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender that the supervisor starts for rehearsals: its folder, its answers, and its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from ...base.errors import BridgeError, Cancelled, ExternalServiceError
from ..confinement import ProcessHandle, ProcessStatus, Spec, Supervisor
from ..confinement.means import Means

__all__ = ("ChildFailed", "Process")

_log = logging.getLogger(__name__)

_POLL_S = 0.1


class ChildFailed(ExternalServiceError):
    """Tells that a child failed; the message says how it ended."""


class Process:
    """A Blender with its own work folder (`spec` takes the folder), started by the supervisor's means or by `by`."""

    def __init__(self, supervisor: Supervisor, spec: Callable[[Path], Spec], by: Means | None) -> None:
        self._supervisor = supervisor
        self.folder = supervisor.new_folder()
        try:
            self.handle: ProcessHandle = supervisor.start(spec(self.folder), by)
        except BridgeError:
            supervisor.remove_folder(self.folder)
            raise

    def alive(self) -> bool:
        """Return whether the process runs."""
        return self.status().state == "running"

    def status(self) -> ProcessStatus:
        """Return what the supervisor knows about the process."""
        return self._supervisor.status(self.handle)

    def end(self) -> None:
        """End the process, and remove its folder."""
        self._supervisor.kill(self.handle)
        self._supervisor.remove_folder(self.folder)

    def receive(self, seconds: float, cancelled: Callable[[], bool]) -> bytes:
        """Return the process's next answer. Raises ChildFailed if none comes within `seconds`, Cancelled."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if cancelled():
                raise Cancelled("The rehearsal was cancelled.")
            try:
                line = self._supervisor.receive(self.handle, _POLL_S)
            except TimeoutError:
                continue
            if line is None:
                self._supervisor.wait(self.handle, 2.0)
                break
            return line
        raise ChildFailed(self.what_became_of_it())

    def what_became_of_it(self) -> str:
        """Return a sentence that says how the process ended, with the last text that it printed."""
        status = self.status()
        if status.reason != "stopped":  # by this Blender, which needs it no more
            _log.warning(
                "A confined Blender failed. The end of its output:\n%s", self._supervisor.chatter(self.handle)
            )
        return f"the confined Blender {_ended(status)}{self._supervisor.last_words(self.handle)}"


def _ended(status: ProcessStatus) -> str:
    if status.state == "running":
        return "did not answer in time"
    return {
        "timed out": "took too long and was stopped",
        "out of memory": "needed more memory than it may have and was stopped",
        "disk full": "wrote more than it may and was stopped",
        "too many threads": "started threads without end and was stopped",
        "flooded": "answered without end and was stopped",
        "not confined": "could not be confined",
        "not started": f"could not be started: {status.detail}",
        "killed by signal": f"crashed (signal {status.signal})",
        "stopped": "was stopped",
        None: f"ended without an answer (exit code {status.exit_code})",
    }[status.reason]
