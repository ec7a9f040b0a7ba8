# SPDX-License-Identifier: GPL-3.0-or-later
"""The only way to run code on Blender's main thread: `run` queues work, the main thread does it when it may.

With a window a persistent timer empties the queue. Blender's main loop sleeps 5 ms between turns and nothing
can wake it from another thread, so while calls come in bursts a window event timer keeps it turning, and a
tick lingers a moment for the next call. A tick is bounded, so that the window keeps drawing.
Without a window timers never fire: `pump` blocks on the queue instead.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from .errors import Cancelled, LimitExceeded
from .flag import Flag
from .signal import Signal
from .telemetry import tracing

__all__ = (
    "Busy",
    "Cancelled",
    "Queue",
    "Stopped",
    "asker",
    "pump",
    "regularly",
    "run",
    "start",
    "stop",
    "timed",
    "waiting",
    "working",
)

T = TypeVar("T")

_log = logging.getLogger(__name__)

#: Seconds until the next tick while nothing happens, and for how long after work it stays quick.
_IDLE_INTERVAL = 0.005
_BURST = 0.25
#: A tick lasts at most this long, or half the time since the last one, so that drawing gets its share.
_MIN_BUDGET = 0.008
#: How long a tick waits for the next call before it gives the main loop back.
_LINGER = 0.001
#: It does not wait where it comes this much later than it wanted: the main loop draws then, as while an animation
#: plays, and has to go on with that.
_DRAWING = 0.008
_EVENT_TIMER_STEP = 0.001
_PUMP_INTERVAL = 0.2
_REGULARLY_S = 1.0


class Stopped(Cancelled):
    """The bridge stopped before the work started, so the work was not done."""


class Busy(LimitExceeded):
    """The main thread could not start the work before its deadline, so the work was not done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, limit="deadline")


#: On whose behalf work runs, such as a connection: the main thread serves all askers in turn.
asker: ContextVar[object] = ContextVar("asker", default=None)


@dataclass(slots=True, eq=False)
class _Work(Generic[T]):
    do: Callable[[], T]
    changes: bool
    deadline: float | None
    cancelled: Flag | None
    label: str
    future: Future[T] = field(default_factory=Future)
    #: The context variables of the asker, so that the work belongs to the trace of its request.
    context: Context = field(default_factory=copy_context)
    asker: object = field(default_factory=asker.get)

    def perform(self) -> None:
        """Do the work now, or set the error that says why not; never raises."""
        if not self.future.set_running_or_notify_cancel():
            return
        if self.cancelled is not None and self.cancelled.is_set():
            self.future.set_exception(Cancelled(f"{self.label} was cancelled before it began"))
            return
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.future.set_exception(Busy(f"Blender was busy, so {self.label} was not begun in time"))
            return
        global _working
        _working = self.label if self.changes else ""
        begin = time.perf_counter()
        try:
            result = self.context.run(tracing.timed, self.label, self.do)
        except BaseException as error:
            # The asker gets any exception of the work; the main loop must go on.
            self._finish(begin)
            self.future.set_exception(error)
        else:
            self._finish(begin)
            self.future.set_result(result)

    def _finish(self, begin: float) -> None:
        global _working
        _working = ""
        timed.emit(self.label, time.perf_counter() - begin)


_working = ""
#: Emitted about once a second, on the main thread, while it takes work.
regularly: Signal[[]] = Signal()
#: Emitted after each piece of work, with its label and the seconds that it took on the main thread.
timed: Signal[[str, float]] = Signal()


def working() -> str:
    """The label of the running work if it may change something, else an empty text: a change is then the user's."""
    return _working


class Queue:
    """Work for one thread: the askers take turns, and the work of one asker runs first in, first out.

    Any thread may submit. No `bpy`.
    """

    def __init__(self) -> None:
        # A SimpleQueue waits in C: half the cost of a Condition, twice for every call.
        self._arrived: SimpleQueue[_Work[Any] | None] = SimpleQueue()
        #: The waiting work of each asker, in the order of their turns; no row is empty. Only the thread that calls
        #: `take` may use it.
        self._rows: dict[object, deque[_Work[Any]]] = {}
        self._in_rows = 0
        self._gate = threading.Lock()
        self._open = True

    def __len__(self) -> int:
        return self._arrived.qsize() + self._in_rows if self._open else 0

    @property
    def closed(self) -> bool:
        """Whether the queue takes no more work."""
        return not self._open

    def submit(
        self,
        do: Callable[[], T],
        *,
        changes: bool = True,
        deadline: float | None = None,
        cancelled: Flag | None = None,
        label: str = "the call",
    ) -> Future[T]:
        """Queue `do`; see `run`."""
        work = _Work(do, changes, deadline, cancelled, label)
        with self._gate:
            if self._open:
                self._arrived.put(work)
                return work.future
        work.future.set_exception(Stopped("MCP Bridge was stopped."))
        return work.future

    def take(self, timeout: float = 0.0, *, reading_only: bool = False) -> _Work[Any] | None:
        """The next piece of work, or None if none arrives within `timeout` seconds.

        `reading_only` leaves work that changes something in the queue for a later `take`.
        """
        while True:
            while not self._arrived.empty():  # nobody else takes from it
                self._line_up(self._arrived.get())
            work = self._next_turn(reading_only)
            if work is not None or timeout <= 0.0:
                return work
            try:
                self._line_up(self._arrived.get(timeout=timeout))
            except Empty:
                return None
            timeout = 0.0

    def _line_up(self, work: _Work[Any] | None) -> None:
        if work is not None:
            self._rows.setdefault(work.asker, deque()).append(work)
            self._in_rows += 1

    def _next_turn(self, reading_only: bool) -> _Work[Any] | None:
        for who, row in self._rows.items():
            work = next((one for one in row if not one.changes), None) if reading_only else row[0]
            if work is None:
                continue
            row.remove(work)
            self._in_rows -= 1
            del self._rows[who]
            if row:
                self._rows[who] = row  # this asker goes to the end
            return work
        return None

    def close(self) -> None:
        """Take no more work; work that still waits gets Stopped. Call it on the thread that calls `take`."""
        with self._gate:
            self._open = False
        while (work := self.take()) is not None:
            if work.future.set_running_or_notify_cancel():
                work.future.set_exception(Stopped(f"MCP Bridge was stopped before {work.label} began."))
        self._arrived.put(None)  # wakes a thread that waits in `take`


_queue = Queue()
_queue.close()


def run(
    do: Callable[[], T],
    *,
    changes: bool = True,
    deadline: float | None = None,
    cancelled: Flag | None = None,
    label: str = "the call",
) -> Future[T]:
    """Have Blender's main thread call `do`; the future gets its result or its exception.

    `changes`: whether `do` may change anything in Blender. Such work waits while the user is in the middle of an
    operation (moving an object, say) or a render runs; work that only reads does not wait.
    `deadline`: the `time.monotonic()` at which work that has not started ends with Busy.
    `cancelled`: if this flag is set before the work starts, the work ends with Cancelled.
    After `stop` the future holds Stopped. Any thread may call this. Do not wait for the future on the main thread:
    that would never end.
    """
    return _queue.submit(do, changes=changes, deadline=deadline, cancelled=cancelled, label=label)


def waiting() -> int:
    """How many pieces of work wait for the main thread."""
    return len(_queue)


def start() -> None:
    """Start to take work. Call on the main thread. With a window this registers the timer."""
    import bpy

    global _queue
    if not _queue.closed:
        return
    _queue = Queue()
    if not bpy.app.background:
        ticker = _Ticker(_queue)
        bpy.app.timers.register(ticker.tick, first_interval=0.0, persistent=True)


def stop() -> None:
    """Take no more work; waiting work gets Stopped, and the timer ends with its next tick."""
    _queue.close()


def pump(keep_going: Callable[[], bool]) -> None:
    """Do work as it arrives until `keep_going` returns False or the queue is stopped: the main loop without a window.

    It calls `keep_going` after each piece of work and at least every 0.2 s, so that it notices a flag that a signal
    handler sets, on every platform.
    """
    clock = _Clock()
    while not _queue.closed and keep_going():
        clock.look()
        work = _queue.take(_PUMP_INTERVAL)
        if work is not None:
            work.perform()


class _Clock:
    """Emits `regularly` about once a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def look(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _REGULARLY_S
            try:
                regularly.emit()
            except Exception:  # the main loop must go on
                _log.exception("what is done every second failed")


class _Ticker:
    """The timer of a Blender with a window: how long each tick works, and when the next one comes."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._last_work = 0.0
        self._last_end = time.perf_counter()
        self._interval = 0.0
        self._event_timer: tuple[Any, int] | None = None
        self._clock = _Clock()

    def tick(self) -> float | None:
        """Called by Blender's main loop. Returns the seconds until the next call, or None to end the timer."""
        queue = self._queue
        if queue.closed:
            self._slow_down()
            return None
        self._clock.look()
        begin = time.perf_counter()
        if queue:
            pause = begin - self._last_end
            draws = pause > self._interval + _DRAWING
            self._work(begin + max(_MIN_BUDGET, pause / 2), 0.0 if draws else _LINGER)
        self._last_end = time.perf_counter()
        if self._last_end - self._last_work < _BURST:
            self._speed_up()
            self._interval = 0.0
        else:
            self._slow_down()
            self._interval = _IDLE_INTERVAL
        return self._interval

    def _work(self, until: float, linger: float) -> None:
        wait = 0.0
        while True:
            work = self._queue.take(wait, reading_only=_user_is_busy())
            if work is None:
                return
            work.perform()
            self._last_work = now = time.perf_counter()
            if now >= until:
                return
            wait = min(linger, until - now)

    def _speed_up(self) -> None:
        """Send the main loop events: without an event it sleeps 5 ms a turn."""
        import bpy

        if self._event_timer is None and bpy.context.window_manager.windows:
            window = bpy.context.window_manager.windows[0]
            timer = bpy.context.window_manager.event_timer_add(_EVENT_TIMER_STEP, window=window)
            self._event_timer = (timer, window.as_pointer())

    def _slow_down(self) -> None:
        import bpy

        if self._event_timer is None:
            return
        timer, pointer = self._event_timer
        self._event_timer = None
        # Closing a window frees its timer; touching the timer after that would crash.
        if any(window.as_pointer() == pointer for window in bpy.context.window_manager.windows):
            bpy.context.window_manager.event_timer_remove(timer)


def _user_is_busy() -> bool:
    """Whether a change now would disturb a render or an operation that the user is in the middle of.

    Modal operators written in Python do not count: add-ons keep such operators running all the time.
    """
    import bpy

    if bpy.app.is_job_running("RENDER"):
        return True
    return any(
        bpy.types.Operator.bl_rna_get_subclass_py(operator.bl_idname) is None
        for window in bpy.context.window_manager.windows
        for operator in window.modal_operators
    )
