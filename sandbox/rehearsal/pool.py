# SPDX-License-Identifier: GPL-3.0-or-later
"""Warm children: one waits ready for the next rehearsal; each rehearses one script and dies."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import BridgeError, Cancelled, ExternalServiceError
from ...base.process import threads
from ..confinement import ProcessHandle, ProcessStatus, Spec, Supervisor
from ..confinement.probe import EVERYTHING
from .program import Program
from .protocol import Garbled, Request, check_ready

__all__ = ("Child", "ChildFailed", "Needs", "Pool")

_log = logging.getLogger(__name__)

_READY_S = 30.0
_POLL_S = 0.1


class ChildFailed(ExternalServiceError):
    """A child did not do what it is there for; the message says what became of it."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a child must have been started with to be of use: confinement cannot be widened later."""

    program: Program
    readable: frozenset[Path]
    memory_mb: int
    disk_mb: int

    def serves(self, other: Needs) -> bool:
        """Whether a child that has this can do what needs the other."""
        return (
            self.program == other.program
            and self.readable >= other.readable
            and self.memory_mb >= other.memory_mb
            and self.disk_mb >= other.disk_mb
        )


class Child:
    """One confined Blender."""

    def __init__(self, supervisor: Supervisor, needs: Needs, *, warm_up: bool) -> None:
        self.needs = needs
        self._supervisor = supervisor
        self._ready = False
        self._folder = supervisor.new_folder()
        try:
            self.handle: ProcessHandle = supervisor.start(self._spec(warm_up))
        except BridgeError:
            supervisor.remove_folder(self._folder)
            raise

    def _spec(self, warm_up: bool) -> Spec:
        supervisor, needs, user = self._supervisor, self.needs, self._folder / "blender"
        return Spec(
            needs.program.command(canary=supervisor.canary(), warm_up=warm_up),
            self._folder,
            timeout_sec=None,
            mem_limit_mb=needs.memory_mb,
            disk_mb=needs.disk_mb,
            cpu_sec=3600,
            net_policy="deny",
            allowed_hosts=(),
            readable=(*needs.program.readable, supervisor.shared_folder(), *sorted(needs.readable)),
            env=(("BLENDER_USER_RESOURCES", str(user)), ("PYTHONDONTWRITEBYTECODE", "1")),
            answers=True,
        )

    def ready(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Wait until it is ready for its script. Raises ChildFailed when it does not get there."""
        if self._ready:
            return
        try:
            in_force = check_ready(self._receive(_READY_S, cancelled))
        except Garbled as error:
            raise ChildFailed(str(error)) from None
        if set(in_force) != set(EVERYTHING):
            raise ChildFailed(f"the confinement does not hold: only {', '.join(in_force)} is refused")
        self._ready = True

    def ask(self, request: Request, seconds: float, cancelled: Callable[[], bool]) -> bytes:
        """Give it its script and wait for the answer. Raises ChildFailed when there is none."""
        self._supervisor.limit_time(self.handle, seconds)
        try:
            self._supervisor.send(self.handle, json.dumps(request).encode())
        except OSError:
            raise ChildFailed(self._what_became_of_it()) from None
        return self._receive(seconds + 5.0, cancelled)

    def alive(self) -> bool:
        """Whether it runs."""
        return self.status().state == "running"

    def status(self) -> ProcessStatus:
        """What the supervisor knows of it."""
        return self._supervisor.status(self.handle)

    def end(self) -> None:
        """End it, and remove what it wrote."""
        self._supervisor.kill(self.handle)
        self._supervisor.remove_folder(self._folder)

    def _receive(self, seconds: float, cancelled: Callable[[], bool]) -> bytes:
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
        raise ChildFailed(self._what_became_of_it())

    def _what_became_of_it(self) -> str:
        _log.warning(
            "A confined Blender failed. The end of its output:\n%s", self._supervisor.chatter(self.handle)
        )
        return f"the confined Blender {_ended(self.status())}{self._supervisor.last_words(self.handle)}"


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


class Pool:
    """At most one warm child, and `at_once` rehearsals at a time."""

    def __init__(self, supervisor: Supervisor, *, at_once: int = 2) -> None:
        self.supervisor = supervisor
        #: Why the last rehearsal could not be held, or not to its end; empty where it was.
        self.failure = ""
        self._slots = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._warm: Child | None = None
        self._closed = False

    @contextmanager
    def child(self, needs: Needs, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Child]:
        """A child for one rehearsal. Afterwards, while the caller goes on, it is ended and the next one gets warm."""
        self._slots.acquire()
        child = None
        try:
            child = self._take(needs)
            child.ready(cancelled)
            yield child
        finally:
            threads.start(self._after, child, needs, name="rehearsal")

    def _after(self, child: Child | None, needs: Needs) -> None:
        try:
            if child is not None:
                child.end()
                self.warm(needs)
        except BridgeError as error:
            _log.info("no child gets warm: %s", error)
        finally:
            self._slots.release()

    def warm(self, needs: Needs) -> None:
        """See to it that a child gets ready for what is to come; returns at once."""
        with self._lock:
            if self._closed:
                return
            if self._warm is None or not self._warm.alive() or not self._warm.needs.serves(needs):
                self._drop()
                self._warm = Child(self.supervisor, needs, warm_up=True)

    def close(self) -> None:
        """End the child that waits."""
        with self._lock:
            self._closed = True
            self._drop()

    def _take(self, needs: Needs) -> Child:
        with self._lock:
            child, self._warm = self._warm, None
        if child is not None:
            if child.alive() and child.needs.serves(needs):
                return child
            child.end()
        return Child(self.supervisor, needs, warm_up=False)

    def _drop(self) -> None:
        if self._warm is not None:
            self._warm.end()
            self._warm = None
