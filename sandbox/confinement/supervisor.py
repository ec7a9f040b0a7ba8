# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts confined processes, watches their limits, restarts them, and makes sure that none outlives it.

One thread starts and watches everything: on Linux the kernel reports a parent's death to a process when the *thread*
that started it ends, and this thread lives as long as the supervisor.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ...base.errors import BridgeError, ExternalServiceError, InvalidParamsError
from ...base.process import threads
from .config import Config
from .folder import RunFolder, remove_tree
from .means import BOOT, Means, Place, ZygoteMeans
from .platforms import NONE, candidates, zygote
from .probe import EVERYTHING, Canary
from .process import Confinement, Counts, ProcessHandle, ProcessStatus, Spec
from .running import Running

__all__ = ("Supervisor", "Unconfined")

T = TypeVar("T")

_log = logging.getLogger(__name__)

#: The seconds between two looks at the processes: while one has a time limit, and while all only wait.
_WATCH_S, _IDLE_S = 0.02, 0.25
_STOP_GRACE_S = 2.0
#: The seconds that the kernel and a busy machine may need to kill a process.
_KILL_S = 8.0
_KEEP_ENDED = 200
_MOST_REFUSED = 100
_TRIAL_S = 30.0
_LONGEST_BACKOFF_S = 300.0
_CLOSED = "The supervisor is closed: no process can be started."


class Unconfined(ExternalServiceError):
    """Tells that nothing can confine a process here; the message says what was tried and what would help."""


class Supervisor:
    """Starts and watches processes. `journal(event, **fields)` keeps records; an error from it prevents a start."""

    def __init__(self, config: Config, journal: Callable[..., Any]) -> None:
        self.config = config
        self._journal = journal
        self._folder: RunFolder | None = None
        self._means: Means | None = None
        self._proved: Confinement | None = None
        self._unconfined = ""
        self._processes: dict[str, Running] = {}
        self._counts = Counts()
        self._orders: list[Callable[[], None]] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self, spec: Spec, by: Means | None = None) -> ProcessHandle:
        """Start a process; when this returns, the process runs, or has failed.

        by: the means to start it, instead of those that this system was found to have (`zygote`).

        Raises Unconfined if nothing confines it, and JournalError if its start cannot be recorded.
        """
        handle = ProcessHandle(secrets.token_hex(8))
        self._on_thread(lambda: self._begin(handle, spec, by))
        return handle

    def zygote(self) -> ZygoteMeans | None:
        """Return means to start a program once and copy it; None if there are none. Raises Unconfined."""
        return zygote(self._on_thread(self._chosen))

    def stop(self, handle: ProcessHandle) -> None:
        """Ask a process to end, kill it 2 s later, and wait until it has ended. It is not restarted."""
        running = self._find(handle)
        running.stop()
        self._wake()
        running.ended.wait(_STOP_GRACE_S)
        self.kill(handle)

    def kill(self, handle: ProcessHandle) -> None:
        """End a process at once, and wait until it has ended."""
        running = self._find(handle)
        running.stop(gently=False)
        self._wake()
        running.ended.wait(_KILL_S)

    def status(self, handle: ProcessHandle) -> ProcessStatus:
        """Return the status of a process now."""
        return self._find(handle).status

    def wait(self, handle: ProcessHandle, timeout: float) -> ProcessStatus:
        """Return the status when the process has ended for good, or its status after `timeout` seconds."""
        running = self._find(handle)
        running.ended.wait(timeout)
        return running.status

    def limit_time(self, handle: ProcessHandle, seconds: float) -> None:
        """Give a process `seconds` from now."""
        self._find(handle).deadline = time.monotonic() + seconds
        self._wake()

    def send(self, handle: ProcessHandle, line: bytes) -> None:
        """Write a line to a process that answers. Raises OSError if it has ended."""
        self._find(handle).send(line)

    def receive(self, handle: ProcessHandle, timeout: float) -> bytes | None:
        """Return the next line of a process that answers, None if it has ended. Raises TimeoutError."""
        return self._find(handle).answers.next(timeout)

    def chatter(self, handle: ProcessHandle) -> str:
        """Return the last 64 KB that a process printed; for diagnosis, never for the journal."""
        return self._find(handle).chatter.text()

    def last_words(self, handle: ProcessHandle) -> str:
        """Return the end of an error message about a process: "; it printed last: “…”", or "" if it printed nothing."""
        words = self._find(handle).chatter.last_words()
        return f"; it printed last: “{words}”" if words else ""

    def counts(self) -> Counts:
        """Return figures for /health and /metrics."""
        return replace(self._counts, running=sum(not p.ended.is_set() for p in self._all()))

    def means(self) -> str:
        """Return the name of the means that confine processes here; the first call tries them. Raises Unconfined."""
        return self._on_thread(self._chosen).name

    def confinement(self) -> Confinement | None:
        """Return how processes are confined here, as a trial just showed; None if they are not, or without a trial.

        Never waits, so that a panel can ask.
        """
        return self._proved

    def unconfined(self) -> str:
        """Return why no process can be confined here; "" if it can, or without a trial. Never waits."""
        return self._unconfined

    def find_out(self) -> None:
        """Try the means that confine processes here, unless that was done; do not wait for the result."""

        if self._means is None and not self._unconfined:
            with contextlib.suppress(ExternalServiceError):  # the supervisor is closed
                self._order(self._chosen)  # the result is kept for the next process

    def new_folder(self) -> Path:
        """Return a new folder for one process to work in; the caller removes it, or `close` does."""
        return self._on_thread(self._own_folder).new()

    def remove_folder(self, folder: Path) -> None:
        """Remove a process's folder, whatever the process left in it.

        Not on the supervisor's thread: it may take long, and that thread enforces limits.
        """
        if self._folder is not None:
            self._folder.remove(folder)

    def canary(self) -> Canary:
        """Return what a process tries to reach to find out whether it is confined."""
        return self._on_thread(lambda: self._own_folder().canary())

    def shared_folder(self) -> Path:
        """Return a folder for files that several processes may read; `close` removes it."""
        return self._on_thread(self._own_folder).shared

    def close(self) -> None:
        """End every process and remove every folder. Nothing can be started afterwards."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join(10.0)

    # -- on the supervisor's thread ------------------------------------------------------------

    def _begin(self, handle: ProcessHandle, spec: Spec, by: Means | None) -> None:
        means = by or self._chosen()

        def starting(restarts: int) -> None:
            self._journal(
                "process_started",
                process=handle.id,
                program=Path(spec.cmd[0]).name,
                means=means.name,
                timeout_s=spec.timeout_sec,
                memory_mb=spec.mem_limit_mb,
                network=spec.net_policy,
                restarts=restarts,
            )

        starting(0)
        running = Running(spec, means, self._place(handle.id), self._wake, starting)
        self._forget_some()
        self._processes[handle.id] = running
        self._counts.started += 1
        running.start()

    def _note(self, event: str, **fields: Any) -> None:
        """Record an event that has already happened: if the journal fails, log it."""
        try:
            self._journal(event, **fields)
        except BridgeError:
            _log.exception("%s could not be recorded: %s", event, fields)

    def _own_folder(self) -> RunFolder:
        if self._folder is None:
            self._folder = RunFolder.make(self.config.sandbox.workdir_base)
        return self._folder

    def _place(self, process: str) -> Place:
        folder = self._own_folder()

        told: set[str] = set()

        def refused(host: str) -> None:
            """Record a refused host, once for each host, and only a limited number for one process."""
            if host not in told and len(told) < _MOST_REFUSED:
                told.add(host)
                self._note("host_refused", process=process, host=host)

        return Place(folder.root, folder.control, folder.canary(), refused)

    def _chosen(self) -> Means:
        """Return the first means that confined a process in a trial. Remembers the result, as systems do not change."""
        if self._unconfined:
            raise Unconfined(self._unconfined)
        if self._means is None:
            failures = []
            for means in candidates(self.config.sandbox.mode):
                failure = self._try(means)
                if failure is None:
                    self._means = means
                    break
                failures.append(f"{means.name}: {failure}")
            else:
                tried = f"Tried {'; '.join(failures)}." if failures else NONE[self.config.sandbox.mode]
                self._unconfined = (
                    "Nothing on this system confines a process: MCP Bridge cannot rehearse scripts, render or open "
                    f"foreign files, and refuses inject_bpy_script. {tried}"
                )
                raise Unconfined(self._unconfined)
        return self._means

    def _try(self, means: Means) -> str | None:
        """Return why these means do not confine a process; None if they do."""
        folder, place = self._own_folder().new(), self._place("trial")
        python = (sys.executable, "-I", "-S", "-B", "-c", BOOT, str(Path(__file__).parent))
        spec = Spec(
            (*python, "supervisor.probe", json.dumps(place.canary)),
            folder,
            timeout_sec=_TRIAL_S,
            mem_limit_mb=256,
            disk_mb=1,
            cpu_sec=10,
            net_policy="deny",
            allowed_hosts=(),
            answers=True,
        )
        trial = Running(spec, means, place, lambda: None, lambda _: None)
        trial.start()
        deadline = time.monotonic() + _TRIAL_S
        while not trial.look() and time.monotonic() < deadline + _KILL_S:
            if self._closed or time.monotonic() > deadline:
                trial.stop(gently=False)
            time.sleep(0.005)
        remove_tree(folder)
        if self._closed:
            raise ExternalServiceError(_CLOSED)
        answer = (trial.answers.next(1.0) or b"{}") if trial.status.exit_code == 0 else b"{}"
        if set(json.loads(answer).get("in_force", ())) != set(EVERYTHING):
            return trial.status.detail or trial.chatter.last_words() or "it did not start"
        if means.needs_namespaces and not trial.has_namespaces:
            return "namespaces are not allowed"
        self._proved = trial.status.confinement
        return None

    def _serve(self) -> None:
        while True:
            with self._changed:
                if not self._orders and not self._closed:
                    self._changed.wait(self._pause())
                orders, self._orders = self._orders, []
                closed = self._closed
            for order in orders:
                order()
            for handle_id, running in list(self._processes.items()):
                if not running.ended.is_set():
                    self._watch(handle_id, running)
            if closed:
                break
        self._end_everything()

    def _pause(self) -> float | None:
        live = [running for running in self._processes.values() if not running.ended.is_set()]
        if not live:
            return None
        return _WATCH_S if any(running.deadline is not None for running in live) else _IDLE_S

    def _watch(self, handle_id: str, running: Running) -> None:
        """Look at one process, count and record its end, and restart it if that is configured."""
        if not running.look():
            return
        status = running.status
        counts = self._counts
        counts.timed_out += status.reason == "timed out"
        counts.out_of_memory += status.reason == "out of memory"
        counts.killed += status.signal is not None
        failed = status.state == "failed" or status.exit_code not in (0, None)
        counts.failed_restarts += failed and status.restarts > 0
        self._note(
            "process_ended",
            process=handle_id,
            process_pid=status.pid,
            state=status.state,
            exit_code=status.exit_code,
            signal=status.signal,
            reason=status.reason,
            restarts=status.restarts,
            peak_memory_mb=round(status.peak_memory_mb, 1),
        )
        policy = running.spec.restart_policy
        if (
            not self._closed
            and status.reason != "stopped"
            and (policy == "always" or (policy == "on-failure" and failed))
        ):
            wait = self.config.supervisor.backoff_seconds * 2**status.restarts
            running.restart_in(min(wait, _LONGEST_BACKOFF_S))
            counts.restarts += 1
        else:
            running.finish()

    def _forget_some(self) -> None:
        ended = [name for name, running in self._processes.items() if running.ended.is_set()]
        for name in ended[:-_KEEP_ENDED]:
            del self._processes[name]

    def _end_everything(self) -> None:
        left = {name: running for name, running in self._processes.items() if not running.ended.is_set()}
        for running in left.values():
            running.stop(gently=False)
        deadline = time.monotonic() + _KILL_S
        while left and time.monotonic() < deadline:
            for name, running in left.items():
                self._watch(name, running)
            left = {name: running for name, running in left.items() if not running.ended.is_set()}
            time.sleep(0.002)
        if self._folder is not None:
            self._folder.close()

    # -- from any thread -----------------------------------------------------------------------

    def _on_thread(self, work: Callable[[], T]) -> T:
        if threading.current_thread() is self._thread:
            return work()
        return self._order(work).result()

    def _order(self, work: Callable[[], T]) -> Future[T]:
        """Have the work done on the supervisor's thread. Raises ExternalServiceError if the supervisor is closed."""
        answer: Future[T] = Future()
        context = copy_context()  # the caller's trace goes into the journal

        def order() -> None:
            try:
                answer.set_result(context.run(work))
            except BaseException as error:
                answer.set_exception(error)

        with self._changed:
            if self._closed:
                raise ExternalServiceError(_CLOSED)
            self._begin_serving()
            self._orders.append(order)
            self._changed.notify_all()
        return answer

    def _begin_serving(self) -> None:
        if self._thread is None:
            self._thread = threads.start(self._serve, name="supervisor")

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _all(self) -> list[Running]:
        return list(self._processes.values())

    def _find(self, handle: ProcessHandle) -> Running:
        try:
            return self._processes[handle.id]
        except KeyError:
            raise InvalidParamsError(f"There is no process {handle.id!r}, or it ended long ago.") from None
