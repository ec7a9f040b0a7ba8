# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches one process: its state, its limits, and how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import IO, Any

from ...base.errors import BridgeError
from ...base.process import threads
from . import answering
from .means import Means, Place, Started
from .measure import deleted_bytes, disk_bytes, usage
from .probe import EVERYTHING
from .process import Confinement, ProcessStatus, Reason, Spec
from .proxy import EgressProxy
from .streams import Answers, Tail

__all__ = ("Running",)

_MB = 1024 * 1024
_DISK_EVERY_S = 0.1
#: More than Blender starts on the largest machines; each takes kernel memory that no other limit counts.
_MOST_THREADS = 1024
#: The seconds that the threads may need to read a dead process's pipes to the end.
_JOIN_S = 1.0
_MOST_CONTROL = 64 * 1024


class Running:
    """One watched process. Only the supervisor's thread calls `start`, `look`, `restart_in` and `finish`."""

    def __init__(
        self,
        spec: Spec,
        means: Means,
        place: Place,
        changed: Callable[[], None],
        restarting: Callable[[int], None],
    ) -> None:
        """Prepare. Each restart first calls `restarting` with its number; an error from it prevents the restart."""
        self.spec = spec
        #: The deadline, by time.monotonic.
        self.deadline: float | None = None
        #: Set when the process has ended and will not be restarted.
        self.ended = threading.Event()
        self.has_namespaces = False
        self._means, self._place, self._changed, self._restarting = means, place, changed, restarting
        self._started: Started | None = None
        self._threads: list[threading.Thread] = []
        self._proxy: EgressProxy | None = None
        self._restart_at: float | None = None
        self._restarts = 0
        self._stopping = False
        #: The supervisor's thread and the thread that reads the launcher's reports both update the status.
        self._adding = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self.answers = Answers(self._flood)
        self.chatter = Tail()
        self.status = ProcessStatus(0, "running", None, time.time(), restarts=self._restarts)
        self._reason: Reason | None = "stopped" if self._stopping else None
        self._launcher_report: dict[str, Any] = {}
        self._peak = 0
        self._ran_out = False
        self._next_disk = 0.0
        #: The process in a container, which is not a child of the engine's program.
        self._inside = 0

    def start(self) -> None:
        """Start the process; a failed start becomes a status, not an error."""
        self._reset()
        if self.spec.timeout_sec is not None:
            self.deadline = time.monotonic() + self.spec.timeout_sec
        try:
            self._started = started = self._means.start(self.spec, self._place)
        except (OSError, subprocess.SubprocessError) as error:
            self._started = None
            self._launcher_report = {"error": str(error)}
            return
        self._add(pid=started.popen.pid)
        popen = started.popen
        assert popen.stdout is not None
        self._threads = [self._thread(self.chatter.follow, popen.stdout)]
        theirs = None
        if self.spec.answers:
            ours, theirs = (started.answers, None) if started.answers else _pipe()
            self._threads.append(self._thread(self.answers.follow, ours))
        if started.control is not None:
            self._threads.append(self._thread(self._follow_control, started.control, theirs))

    def look(self) -> bool:
        """Enforce the limits. Returns True, once, when the process has ended."""
        if self._restart_at is not None:
            if time.monotonic() < self._restart_at and not self._stopping:
                return False
            self._restart_at = None
            if self._stopping:
                self.finish()
                return False
            try:
                self._restarting(self._restarts + 1)
            except BridgeError as error:
                self._launcher_report = {"error": str(error)}
                self.status = replace(self.status, state="failed", reason="not started", detail=str(error))
                self.finish()
                return False
            self._restarts += 1
            self.start()
        if self._started is None:
            self.status = self._ending(None)
            return True
        code = self._started.popen.poll()
        if code is None:
            self._enforce()
            return False
        self._clean_up()
        self.status = self._ending(code)
        return True

    def stop(self, *, gently: bool = True) -> None:
        """Ask the process to end, or kill it. It is not restarted."""
        self._stopping = True
        self._reason = self._reason or "stopped"
        self._signal(signal.SIGTERM if gently else _KILL)

    def restart_in(self, seconds: float) -> None:
        """Restart the process after `seconds`."""
        self._restart_at = time.monotonic() + seconds

    def finish(self) -> None:
        """Mark the process as ended, without a restart."""
        self.deadline = None
        self.ended.set()

    def send(self, line: bytes) -> None:
        """Write a line to the process's standard input. Raises OSError if it has ended."""
        pipe = self._started.popen.stdin if self._started else None
        if pipe is None or pipe.closed:
            raise BrokenPipeError("Broken pipe: the process has ended, or takes no input")
        pipe.write(line + b"\n")
        pipe.flush()

    def _add(self, **known: Any) -> None:
        with self._adding:
            self.status = replace(self.status, **known)

    def _enforce(self) -> None:
        now, pid = time.monotonic(), self._inside or self.status.pid
        assert self._started is not None
        used = usage(pid, alone=self._started.alone)
        self._peak = max(self._peak, used.memory)
        self._add(peak_memory_mb=self._peak / _MB)
        if self.deadline is not None and now > self.deadline:
            self._kill("timed out")
        elif self._peak > self.spec.mem_limit_mb * _MB:
            self._kill("out of memory")
        elif used.threads > _MOST_THREADS:
            self._kill("too many threads")
        elif now > self._next_disk:
            self._next_disk = now + _DISK_EVERY_S
            most, workdir = self.spec.disk_mb * _MB, self.spec.workdir
            if disk_bytes(workdir, most) + deleted_bytes(pid, workdir) > most:
                self._kill("disk full")

    def _kill(self, reason: Reason) -> None:
        self._reason = self._reason or reason
        self._signal(_KILL)

    def _flood(self) -> None:
        self._kill("flooded")

    def _signal(self, number: int) -> None:
        started = self._started
        if started is None or started.popen.poll() is not None:
            return
        with contextlib.suppress(OSError):  # it has just ended
            if sys.platform == "win32":
                started.popen.kill()
            else:
                os.killpg(started.popen.pid, number)

    def _clean_up(self) -> None:
        assert self._started is not None
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # ends what the process started and left behind
                os.killpg(self.status.pid, signal.SIGKILL)
        for thread in self._threads:
            thread.join(_JOIN_S)
        if self._started.popen.stdin is not None:
            with contextlib.suppress(OSError):  # what was not written yet has no reader any more
                self._started.popen.stdin.close()
        self._ran_out = self._started.ran_out()
        if self._ran_out:  # between two looks
            self._peak = max(self._peak, self.spec.mem_limit_mb * _MB)
            self._add(peak_memory_mb=self._peak / _MB)
        self._started.kill_rest()
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None

    def _ending(self, code: int | None) -> ProcessStatus:
        """Return the last status, from what the kernel, the launcher and this object know."""
        number = -code if code is not None and code < 0 else None
        if code is not None and code > 128 and self._means.wraps:
            number, code = code - 128, None
        reason = self._reason or self._why(code, number)
        failed = reason not in (None, "stopped")
        return replace(
            self.status,
            state="failed" if failed else "exited",
            exit_code=code if number is None else None,
            signal=number,
            end_time=time.time(),
            reason=reason,
            detail=str(self._launcher_report.get("error", "")),
        )

    def _why(self, code: int | None, number: int | None) -> Reason | None:
        if "error" in self._launcher_report or self._started is None:
            return "not started"
        if self._started.control is not None and set(self.status.confinement.in_force) != set(EVERYTHING):
            return "not confined"
        if number is None:
            return None
        if number == getattr(signal, "SIGXCPU", 0):
            return "timed out"
        if number == getattr(signal, "SIGXFSZ", 0):
            return "disk full"
        near_limit = self._ran_out or self._peak > 0.8 * self.spec.mem_limit_mb * _MB
        # In a container the kernel enforces the memory limit, and kills.
        by_the_container = self._means.wraps and number == _KILL
        return "out of memory" if near_limit or by_the_container else "killed by signal"

    def _follow_control(self, control: Callable[[], socket.socket], answers: IO[bytes] | None) -> None:
        """Send the launcher its end of the pipe for answers, and read its reports.

        It hangs up when the command begins, or in a container when it ends.
        """
        try:
            with answers or nullcontext(), control() as connection:
                if answers is not None:
                    answering.hand_over(connection, answers.fileno())
                    answers.close()  # so that the answers end with the last writer
                self._inside = _process_behind(connection)
                data = b""
                while len(data) < _MOST_CONTROL:
                    chunk, descriptors, _, _ = socket.recv_fds(connection, 4096, 1)
                    for descriptor in descriptors:
                        self._open_proxy(socket.socket(fileno=descriptor))
                    if not chunk:
                        break
                    *lines, data = (data + chunk).split(b"\n")
                    for line in lines:
                        self._take(line)
        except (OSError, ValueError) as error:
            self._launcher_report.setdefault("error", f"the launcher could not be heard: {error}")

    def _take(self, line: bytes) -> None:
        """Read one line of the launcher, in JSON; the word that comes with a listener is no JSON."""
        if not line.startswith(b"{"):
            return
        self._launcher_report |= json.loads(line)
        self.has_namespaces = self._launcher_report.get("namespaces") in ("own", "given")
        in_force = tuple(self._launcher_report.get("in_force", ()))
        self._add(confinement=Confinement(self._describe(), in_force))
        self._changed()

    def _describe(self) -> str:
        limits = " and ".join(self._launcher_report.get("limits", ()))
        return (
            self._means.name
            + (", in namespaces of its own" if self.has_namespaces else "")
            + (f", in a control group that limits {limits}" if limits else "")
        )

    def _open_proxy(self, listener: socket.socket) -> None:
        self._proxy = EgressProxy(listener, self.spec.allowed_hosts, self._place.refused)
        self._proxy.start()

    def _thread(self, work: Callable[..., None], *arguments: Any) -> threading.Thread:
        return threads.start(work, *arguments, name="process output")


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


def _process_behind(connection: socket.socket) -> int:
    """Return the id of the process that has connected; 0 if it is this one, which made both ends."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return 0 if pid == os.getpid() else int(pid)


_KILL = getattr(signal, "SIGKILL", 9)
