# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches one run: its deadline, whether it was cancelled, and how much memory it has come to use.

A thread looks at them, which stays for a while after a run: to start one costs more than most scripts take. A run that
is past a limit is stopped at its next tick (`guard.meter`). For Python code of the standard library, which has no
ticks, the thread raises the stop asynchronously; never into Blender's or an add-on's code.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from threading import get_ident
from time import monotonic

from ...base.errors import BridgeError, LimitExceeded, PolicyError
from ...base.process import threads
from ...base.process.resident_memory import resident_bytes
from ..guard.audit import may_raise
from ..guard.meter import Interrupted, Limits, Meter, Refused, ScriptStopped
from ..language.hooks import RUNNING

__all__ = ("Interrupted", "Limits", "Refused", "ScriptStopped", "Watchdog", "rest")

POLL_S = 0.02
_IDLE_S = 5.0
ASYNC_GRACE_S = 0.3
"""How long a tripped run may go on before the stop is raised asynchronously (ticks are usually far quicker)."""


class Watchdog(Meter):
    """One run's limits: `with Watchdog(limits, cancelled) as meter: exec(code, namespace)`.

    Enter it on the thread that runs the script. `cancelled` is asked from the watching thread every 20 ms.
    """

    def __init__(self, limits: Limits | None = None, cancelled: Callable[[], bool] | None = None) -> None:
        super().__init__(limits)
        self._cancelled = cancelled or (lambda: False)
        self._thread_id = 0
        self._fired = False
        self._resident_before = 0
        self._tripped_at = 0.0

    def __enter__(self) -> Watchdog:
        self._thread_id = get_ident()
        self.deadline = monotonic() + self.limits.time_s
        if self.limits.memory_bytes is not None:
            self._resident_before = resident_bytes()
        _watcher.add(self)
        self._begun = True
        for context in self._held:
            context.__enter__()
        return self

    def __exit__(self, *_exc: object) -> None:
        try:
            self._finish()
        except Interrupted:  # raised asynchronously, at most once in a run, before _finish had the lock
            self._finish()
        while self._held:
            self._held.pop().__exit__(None, None, None)

    def _finish(self) -> None:
        self._over = True
        if self.error is not None:  # else nothing was raised, and from now on nothing will be
            with self._lock:  # a look that has begun ends first
                fired = self._fired
            if fired:
                _receive_late_stop()
        for namespace in self._namespaces:
            namespace[RUNNING] = False
        _watcher.remove(self)

    def look(self) -> None:
        """Trip the run if it is past a limit. Called every 20 ms, from the watching thread."""
        now, limit = monotonic(), self.limits.memory_bytes
        if self.error is not None:
            self._tripped_at = self._tripped_at or now
            if now - self._tripped_at > ASYNC_GRACE_S and not self._fired:
                self._raise_in_library_code()
        elif self._cancelled():
            self.trip(LimitExceeded("the run was cancelled", limit="cancelled"))
        elif now > self.deadline:
            self.trip(self._too_long())
        elif limit is not None and resident_bytes() - self._resident_before > limit:
            self.trip(
                LimitExceeded(f"the script used more than {limit >> 20:,} MiB of memory", limit="memory")
            )

    @may_raise("ctypes.call_function", "ctypes.dlsym")
    def _raise_in_library_code(self) -> None:
        """Raise the stop in the script's thread, if that is in Python code of the standard library just now."""
        with self._lock:
            if self._over or self.error is None:
                return
            frame = sys._current_frames().get(self._thread_id)
            if frame is None or frame.f_globals.get("__name__", "").partition(".")[0] not in _LIBRARY:
                return
            self._fired = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread_id), ctypes.py_object(_interrupted_type(self.error))
            )


class _Watcher:
    """The thread that looks at the runs of this process.

    It goes on looking for some seconds after the last run began: to wake a thread costs more than most scripts take,
    and on a busy machine the thread that was woken keeps the script waiting. For the same reason a run takes no lock to
    begin or end: a lock that was not used for a while costs as much as a short script.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Know of no run and no thread: a fork takes neither the thread along nor who held the lock."""
        self._runs: set[Watchdog] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._until = 0.0
        self._asked: list[Callable[[], None]] = []
        self._wake = threading.Event()

    def add(self, run: Watchdog) -> None:
        """Look at `run` from now on."""
        self._runs.add(run)
        self._until = monotonic() + _IDLE_S
        if self._thread is None:  # else it sees the run before it ends: `_is_needed`
            self._start()

    def remove(self, run: Watchdog) -> None:
        """`run` is over; a look at it that has begun does nothing more."""
        self._runs.discard(run)

    def rest(self) -> None:
        """End the thread now, while no run is there, and wait until it has ended; the next run starts another."""
        thread, self._until = self._thread, 0.0
        self._wake.set()
        if thread is not None:
            thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="mcp_bridge watchdog", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        try:
            with threads.pausable(self._call_soon):
                while self._is_needed():
                    self._wake.wait(POLL_S)
                    self._wake.clear()
                    while self._asked:
                        self._asked.pop()()
                    self._look()  # in a function of its own: between two looks, nothing here holds on to a run
        finally:  # a look that failed ends this thread, and the next run needs one
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _call_soon(self, work: Callable[[], None]) -> None:
        self._asked.append(work)
        self._wake.set()

    def _is_needed(self) -> bool:
        if self._runs or monotonic() <= self._until:
            return True
        with self._lock:
            self._thread = None  # whoever begins from now on starts another one, once the lock is free
            if self._runs:  # who began before that has seen this one
                self._thread = threading.current_thread()
            return self._thread is not None

    def _look(self) -> None:
        for run in self._runs.copy():
            try:
                run.look()
            except Exception as error:
                run.trip(
                    PolicyError(
                        "it cannot be told how much time and memory the script uses, so it was stopped: "
                        f"{type(error).__name__}"
                    )
                )


_watcher = _Watcher()
rest = _watcher.rest
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watcher.begin)
_LIBRARY = frozenset(
    {"collections", "colorsys", "copy", "dataclasses", "datetime", "enum", "fractions", "functools", "heapq"}
    | {"json", "numpy", "random", "re", "statistics", "string", "textwrap", "typing"}
)


def _receive_late_stop() -> None:
    """Take the stop that was raised in this thread, in case it has not arrived: it must not reach the host.

    It is not withdrawn: `PyThreadState_SetAsyncExc` without an exception sets Python 3.11's flag "look for an
    exception", and nothing takes the flag back. Under a profiler or a debugger, the next call would never return.
    """
    try:
        for _ in range(2):  # Python looks for it where a loop jumps back
            pass
    except Interrupted:
        pass


def _interrupted_type(error: BridgeError) -> type[Interrupted]:
    """An `Interrupted` that Python can make without arguments, as asynchronous exceptions are."""

    class InterruptedHere(Interrupted):
        def __init__(self) -> None:
            super().__init__(error)

    return InterruptedHere
