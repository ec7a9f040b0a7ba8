# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of a run, and the stop that a script cannot swallow.

A script asks one question wherever it can loop, recurse or be resumed: is `namespace[RUNNING]` still true? The
transformer writes that question into the script, so a tick costs one look-up of a global. Whoever stops a run — the
deadline, a cancel, the memory poll, a refusal — sets the flag to false, and from then on **every** tick raises again:
a script that catches, or returns out of `finally`, only reaches the next tick. The flag stays false when the run is
over, so a function that the script left behind somewhere (a handler, a generator's `finally`) raises when called.

Deadline, cancel and memory are looked at by a thread, which stays for a while after a run: to start one costs more than
most scripts take. For Python code of the standard
library, which has no ticks, it raises the stop asynchronously; never into Blender's or an add-on's code.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from threading import get_ident
from time import monotonic
from typing import NoReturn

from .. import threads
from ..errors import BridgeError, LimitExceeded, PolicyError
from .hooks import RUNNING

__all__ = ("Interrupted", "Limits", "Refused", "ScriptStopped", "Watchdog", "resident_bytes")

POLL_S = 0.02
_IDLE_S = 5.0
ASYNC_GRACE_S = 0.3
"""How long a tripped run may go on before the stop is raised asynchronously (ticks are usually far quicker)."""


class ScriptStopped(BaseException):
    """Ends a script from inside; no script can name it, nor catch it with `except`. `error` is what the edge raises."""

    def __init__(self, error: BridgeError) -> None:
        super().__init__(str(error))
        self.error = error


class Refused(ScriptStopped):
    """A guard said no; `error` is a `PolicyError`."""

    def __init__(self, message: str, *, code: str = "policy") -> None:
        super().__init__(PolicyError(message, code=code))


class Interrupted(ScriptStopped):
    """A limit or a cancel; `error` is a `LimitExceeded`, or a `PolicyError` once the run is over."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use. Sizes of values are in items, characters or bits; memory and output in bytes/characters."""

    time_s: float = 5.0
    memory_bytes: int | None = None
    """Growth of the process's resident memory since the run began; polled, so a single huge call overshoots."""
    output_chars: int = 1_000_000
    sequence: int = 10_000_000
    """Most items of a sequence, or characters of a text, that one operation may make."""
    integer_bits: int = 65_536
    """Longest integer that one operation may make (about 20,000 digits)."""


class Watchdog:
    """One run's limits: `with Watchdog(limits, cancelled) as meter: exec(code, namespace)`.

    Enter it on the thread that runs the script. `cancelled` is asked from the watching thread every 20 ms.
    """

    def __init__(self, limits: Limits | None = None, cancelled: Callable[[], bool] | None = None) -> None:
        self.limits = limits or Limits()
        self.deadline = monotonic() + self.limits.time_s
        self.error: BridgeError | None = None
        self._cancelled = cancelled or (lambda: False)
        self._namespaces: list[MutableMapping[str, object]] = []
        self._printed: list[str] = []
        self._printed_chars = 0
        self._lock = threading.Lock()
        self._over = False
        self._thread_id = 0
        self._fired = False
        self._resident_before = 0
        self._tripped_at = 0.0

    def attach(self, namespace: MutableMapping[str, object]) -> None:
        """Make `namespace[RUNNING]` follow this run."""
        self._namespaces.append(namespace)
        namespace[RUNNING] = self.error is None and not self._over

    def __enter__(self) -> Watchdog:
        self._thread_id = get_ident()
        self.deadline = monotonic() + self.limits.time_s
        if self.limits.memory_bytes is not None:
            self._resident_before = resident_bytes()
        _watcher.add(self)
        return self

    def __exit__(self, *_exc: object) -> None:
        try:
            self._finish()
        except Interrupted:  # raised asynchronously, at most once in a run, before _finish had the lock
            self._finish()

    def trip(self, error: BridgeError) -> None:
        """Stop the run at its next tick; the first reason stays. Callable from any thread."""
        with self._lock:
            if self.error is None and not self._over:
                self.error = error
        for namespace in self._namespaces:
            namespace[RUNNING] = False

    def tick(self) -> None:
        """Raise `Interrupted` if the run has been stopped, is over, or is past its deadline."""
        if self.error is None and not self._over and monotonic() > self.deadline:
            self.trip(self._too_long())
        if self.error is not None or self._over:
            self.stop()

    def stop(self) -> NoReturn:
        """Raise the reason why this run must not go on (what a script's tick calls when the flag is down)."""
        if self.error is not None:
            raise Interrupted(self.error)
        raise Interrupted(
            PolicyError("this script's run is over: its functions cannot be called any more", code="over")
        )

    def refuse(self, message: str, *, code: str = "policy") -> NoReturn:
        """Stop the run because a guard said no."""
        refused = Refused(message, code=code)
        self.trip(refused.error)
        raise refused

    def exceed(self, message: str, *, limit: str) -> NoReturn:
        """Stop the run because a limit was reached."""
        error = LimitExceeded(message, limit=limit)
        self.trip(error)
        raise Interrupted(error)

    def print(self, text: str) -> None:
        """Keep what the script prints; raises `Interrupted` above the limit."""
        room = self.limits.output_chars - self._printed_chars
        self._printed.append(text[:room])
        self._printed_chars += len(text)
        if len(text) > room:
            self.exceed(
                f"the script printed more than {self.limits.output_chars:,} characters", limit="output"
            )

    def output(self) -> str:
        """All that was printed; lone surrogates, which no encoding takes, are escaped."""
        return "".join(self._printed).encode("utf-8", "backslashreplace").decode("utf-8")

    def _finish(self) -> None:
        self._over = True
        if self.error is not None:  # else nothing was raised, and from now on nothing will be
            with self._lock:
                if self._fired:  # perhaps not delivered yet: it must not reach the host
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread_id), None)
        for namespace in self._namespaces:
            namespace[RUNNING] = False
        _watcher.remove(self)

    def _too_long(self) -> LimitExceeded:
        return LimitExceeded(f"the script ran longer than {self.limits.time_s:g} s", limit="time")

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
            run.look()


_watcher = _Watcher()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watcher.begin)
_LIBRARY = frozenset(
    {"collections", "colorsys", "copy", "dataclasses", "datetime", "enum", "fractions", "functools", "heapq"}
    | {"json", "numpy", "random", "re", "statistics", "string", "textwrap", "typing"}
)


def _interrupted_type(error: BridgeError) -> type[Interrupted]:
    """An `Interrupted` that Python can make without arguments, as asynchronous exceptions are."""

    class InterruptedHere(Interrupted):
        def __init__(self) -> None:
            super().__init__(error)

    return InterruptedHere


def resident_bytes() -> int:
    """Resident memory of this process in bytes: current on Linux and Windows, the peak so far on macOS."""
    if sys.platform == "linux":
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    if sys.platform == "win32":
        return _resident_windows()
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _resident_windows() -> int:
    class Counters(ctypes.Structure):
        _fields_ = (
            ("cb", ctypes.c_ulong),
            ("page_faults", ctypes.c_ulong),
            *(
                (name, ctypes.c_size_t)
                for name in ("peak", "working_set", "a", "b", "c", "d", "pagefile", "e")
            ),
        )

    counters = Counters()
    counters.cb = ctypes.sizeof(counters)
    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    kernel.K32GetProcessMemoryInfo(
        ctypes.c_void_p(kernel.GetCurrentProcess()), ctypes.byref(counters), counters.cb
    )
    return int(counters.working_set)


def _page_size() -> int:
    if sys.platform != "linux":
        return 0
    import os

    return os.sysconf("SC_PAGE_SIZE")


_PAGE = _page_size()
