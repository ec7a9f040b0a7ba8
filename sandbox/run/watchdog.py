# SPDX-License-Identifier: GPL-3.0-or-later
"""Watch a run: its deadline, its cancellation, and the memory that it uses.

A thread checks them. It stays alive for some seconds after a run, since starting a thread costs more than most scripts.
A run that passes a limit stops at its next tick (`guard.meter`). For Python code of the standard library, which has no
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
"""The seconds before a run over a limit gets the exception asynchronously (ticks are usually far quicker)."""


class Watchdog(Meter):
    """Enforce the limits of one run: `with Watchdog(limits, cancelled) as meter: exec(code, namespace)`.

    Enter it on the thread that runs the script. The watching thread calls `cancelled` every 20 ms.
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
        if self.error is not None:  # otherwise nothing was raised, and nothing will be
            with self._lock:  # waits for a check in progress
                fired = self._fired
            if fired:
                _receive_late_stop()
        for namespace in self._namespaces:
            namespace[RUNNING] = False
        _watcher.remove(self)

    def look(self) -> None:
        """Stop the run if it has passed a limit. The watching thread calls this every 20 ms."""
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
        """Raise the exception in the script's thread, if it now runs Python code of the standard library."""
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
    """The thread that checks the runs of this process.

    It continues for some seconds after the start of the last run: waking a thread costs more than most scripts take,
    and on a busy machine the new thread delays the script. For the same reason a run takes no lock to begin or end: a
    lock that was unused for a while costs as much as a short script.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start without runs and without a thread: a fork has neither the thread nor the holder of the lock."""
        self._runs: set[Watchdog] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._until = 0.0
        self._orders: list[Callable[[], None]] = []
        self._wake = threading.Event()

    def add(self, run: Watchdog) -> None:
        """Check `run` from now on."""
        self._runs.add(run)
        self._until = monotonic() + _IDLE_S
        if self._thread is None:  # otherwise `_is_needed` sees the run before the thread ends
            self._start()

    def remove(self, run: Watchdog) -> None:
        """Stop checking `run`, which has ended; a check that has begun does nothing more."""
        self._runs.discard(run)

    def rest(self) -> None:
        """End the thread, and wait for its end. Call it while nothing runs; the next run starts another thread."""
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
                    while self._orders:
                        self._orders.pop()()
                    self._look()  # a function of its own, so that this one keeps no reference to a run
        finally:  # an error ends this thread; then the next run starts another
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _call_soon(self, work: Callable[[], None]) -> None:
        self._orders.append(work)
        self._wake.set()

    def _is_needed(self) -> bool:
        if self._runs or monotonic() <= self._until:
            return True
        with self._lock:
            self._thread = None  # a run that begins now starts another thread, once the lock is free
            if self._runs:  # a run that began before saw this thread and started none
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
    """Catch the asynchronous exception if it has not arrived yet: it must not reach the host.

    It cannot be withdrawn: `PyThreadState_SetAsyncExc` without an exception sets Python 3.11's flag "look for an
    exception", and nothing clears the flag. Under a profiler or a debugger, the next call would never return.
    """
    try:
        for _ in range(2):  # Python raises it where a loop jumps back
            pass
    except Interrupted:
        pass


def _interrupted_type(error: BridgeError) -> type[Interrupted]:
    """Return an `Interrupted` class that needs no arguments: Python passes none to asynchronous exceptions."""

    class InterruptedHere(Interrupted):
        def __init__(self) -> None:
            super().__init__(error)

    return InterruptedHere
