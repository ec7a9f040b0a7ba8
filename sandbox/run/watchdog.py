# SPDX-License-Identifier: GPL-3.0-or-later
"""Watch a run: its deadline, its cancellation, and the memory that it uses.

A thread checks them. It stays alive for some seconds after a run, since starting a thread costs more than most scripts.
A run that passes a limit stops at its next tick (`guard.meter`). Python code of the standard library and of numpy has
no ticks: the thread asks Python to call `_Stop` in the main thread, which sees the code that it interrupts, and stops
the run only in such a library, or in a module of Blender's that only computes. It never interrupts other code of
Blender's or an add-on's, nor our functions that C code calls and that must return a value (`stdlib.array_memory`). If
the thread fails, it stops the runs that it watches.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from threading import get_ident
from time import monotonic

from ...base.errors import LimitExceeded, PolicyError
from ...base.process import threads
from ...base.process.resident_memory import resident_bytes
from ..guard.audit import may_raise
from ..guard.meter import Interrupted, Limits, Meter, Refused, ScriptStopped
from ..language.hooks import RUNNING

__all__ = ("Interrupted", "Limits", "Refused", "ScriptStopped", "Watchdog", "rest")

POLL_S = 0.02
_IDLE_S = 5.0
_START_S = 10.0
GRACE_S = 0.3
"""The seconds before a run over a limit is stopped in a library's code (ticks are usually far quicker)."""


class Watchdog(Meter):
    """Enforce the limits of one run: `with Watchdog(limits, cancelled) as meter: exec(code, namespace)`.

    Enter it on the thread that runs the script: code of libraries is stopped on the main thread alone. The watching
    thread calls `cancelled` every 20 ms.
    """

    def __init__(self, limits: Limits | None = None, cancelled: Callable[[], bool] | None = None) -> None:
        super().__init__(limits)
        self._cancelled = cancelled or (lambda: False)
        self._thread_id = 0
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
        self._over = True
        for namespace in self._namespaces:
            namespace[RUNNING] = False
        _watcher.remove(self)
        while self._held:
            self._held.pop().__exit__(None, None, None)

    def look(self) -> None:
        """Stop the run if it has passed a limit. The watching thread calls this every 20 ms."""
        now, limit = monotonic(), self.limits.memory_bytes
        if self.error is not None:
            self._tripped_at = self._tripped_at or now
            if now - self._tripped_at > GRACE_S:
                _stop.call_soon()
        elif self._cancelled():
            self.trip(LimitExceeded("the run was cancelled", limit="cancelled"))
        elif now > self.deadline:
            self.trip(self._too_long())
        elif limit is not None and resident_bytes() - self._resident_before > limit:
            self.trip(
                LimitExceeded(f"the script used more than {limit >> 20:,} MiB of memory", limit="memory")
            )

    def stop_in_library(self) -> None:
        """Raise `Interrupted` if this run has been over a limit for a while; the main thread runs a library's code."""
        if self._tripped_at and not self._over and self._thread_id == get_ident():
            self.stop()


class _Stop:
    """Stops runs that are over a limit while the main thread runs Python code of a library.

    `Py_AddPendingCall` has Python ask for the truth of this object between two instructions of the main thread.
    """

    def __init__(self) -> None:
        self.asked_at = 0.0
        """When Python was asked, if it has not called yet. It cannot call at the limit of recursion."""

    @may_raise("ctypes.call_function")
    def call_soon(self) -> None:
        """Ask Python to call `__bool__` in the main thread."""
        now = monotonic()
        if now - self.asked_at > GRACE_S and _add_pending_call(_IS_TRUE, self) == 0:
            self.asked_at = now

    @may_raise("sys._getframe")
    def __bool__(self) -> bool:
        self.asked_at = 0.0
        interrupted = sys._getframe(1).f_globals.get("__name__", "")
        if interrupted.partition(".")[0] in _LIBRARY or interrupted in _COMPUTING:
            for run in _watcher.runs.copy():
                run.stop_in_library()
        return False


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
        _stop.asked_at = 0.0
        self.runs: set[Watchdog] = set()
        """The runs that have not ended. A set: if a function of this class fails, all runs are stopped without it."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._until = 0.0
        self._orders: list[Callable[[], None]] = []
        self._wake = threading.Event()
        self._pausable = threading.Event()

    def add(self, run: Watchdog) -> None:
        """Check `run` from now on."""
        self.runs.add(run)
        self._until = monotonic() + _IDLE_S
        if self._thread is None:  # otherwise `_is_needed` sees the run before the thread ends
            try:
                self._start()
            except BaseException:  # without a thread nobody would watch this run: it does not begin
                self.runs.discard(run)
                raise

    def remove(self, run: Watchdog) -> None:
        """Stop checking `run`, which has ended; a check that has begun does nothing more."""
        self.runs.discard(run)

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
                self._pausable.clear()
                try:
                    self._thread.start()
                    if not self._pausable.wait(_START_S):  # the run may need the pause at once
                        raise RuntimeError(f"no thread that watches scripts has started in {_START_S:.0f} s")
                except RuntimeError:  # no more threads, or a stuck one: the next run tries again
                    self._thread = None
                    raise

    def _watch(self) -> None:
        failure: BaseException | None = None
        try:
            with threads.pausable(self._call_soon):
                self._pausable.set()
                while self._is_needed():
                    self._wake.wait(POLL_S)
                    self._wake.clear()
                    while self._orders:
                        self._orders.pop()()
                    self._look()  # a function of its own, so that this one keeps no reference to a run
        except BaseException as error:
            failure = error
        finally:
            self._pausable.set()
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None  # the next run starts another thread
        # Only now that `_thread` is None: a run that began before that counted on this thread, and is one of `runs`.
        if failure is not None:
            for run in self.runs.copy():
                _stop_unwatched(run, failure)

    def _call_soon(self, work: Callable[[], None]) -> None:
        self._orders.append(work)
        self._wake.set()

    def _is_needed(self) -> bool:
        if self.runs or monotonic() <= self._until:
            return True
        with self._lock:
            self._thread = None  # a run that begins now starts another thread, once the lock is free
            if self.runs:  # a run that began before saw this thread and started none
                self._thread = threading.current_thread()
            return self._thread is not None

    def _look(self) -> None:
        for run in self.runs.copy():
            try:
                run.look()
            except Exception as error:
                _stop_unwatched(run, error)


def _stop_unwatched(run: Watchdog, error: BaseException) -> None:
    """Stop a run of which nobody can tell how much it uses, since the thread that watches it failed with `error`."""
    run.trip(
        PolicyError(
            "it cannot be told how much time and memory the script uses, so it was stopped: "
            f"{type(error).__name__}"
        )
    )


_stop = _Stop()
_watcher = _Watcher()
rest = _watcher.rest
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watcher.begin)
_LIBRARY = frozenset(
    {"collections", "colorsys", "copy", "dataclasses", "datetime", "enum", "fractions", "functools", "heapq"}
    | {"json", "numpy", "random", "re", "statistics", "string", "textwrap", "typing"}
)
_COMPUTING = frozenset({"bpy_extras.bmesh_utils", "bpy_extras.mesh_utils"})
"""Modules of Blender's that only compute, so that nothing remains half done."""
_add_pending_call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)(
    ("Py_AddPendingCall", ctypes.pythonapi)
)
_IS_TRUE = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
