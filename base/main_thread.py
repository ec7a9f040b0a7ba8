# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way into Blender's main thread: `run` queues work, the main thread does it when it may.

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
from typing import Any, Generic, Protocol, TypeVar

from .errors import Cancelled, LimitExceeded
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
_IDLE_INTERVAL = 0.01
_BURST = 0.25
#: A tick lasts at most this long, or half the time since the last one, so that drawing gets its share.
_MIN_BUDGET = 0.008
#: How long a tick waits for the next call before it gives the main loop back.
_LINGER = 0.001
_EVENT_TIMER_STEP = 0.001
_PUMP_INTERVAL = 0.2
_REGULARLY_S = 1.0


class Stopped(Cancelled):
    """The bridge was stopped before the work was begun: it was not done."""


class Busy(LimitExceeded):
    """Blender did not get round to the work before its deadline: it was not done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, limit="deadline")


#: For whom work is done, such as a connection: the main thread takes turns between those who have asked for some.
asker: ContextVar[object] = ContextVar("asker", default=None)


class Flag(Protocol):
    """Something that tells whether it was set, like `threading.Event`."""

    def is_set(self) -> bool: ...


@dataclass(slots=True, eq=False)
class _Work(Generic[T]):
    do: Callable[[], T]
    changes: bool
    deadline: float | None
    cancelled: Flag | None
    label: str
    future: Future[T] = field(default_factory=Future)
    #: That of whoever asked: the trace of a request goes along.
    context: Context = field(default_factory=copy_context)
    asker: object = field(default_factory=asker.get)

    def perform(self) -> None:
        """Do the work now, or say why not; never raises."""
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
            # Whatever the work raised belongs to whoever asked for it; the main loop must go on.
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
#: Told about once a second, on the main thread, as long as it takes work.
regularly: Signal[[]] = Signal()
#: Told of each piece of work, by its label, and for how many seconds it had the main thread.
timed: Signal[[str, float]] = Signal()


def working() -> str:
    """The label of the work under way that may change something, or an empty text: then the user is at it."""
    return _working


class Queue:
    """Work for one thread: a turn for each who has asked, and of each the first in, first out.

    Any thread may submit; pure, knows nothing of Blender.
    """

    def __init__(self) -> None:
        # A SimpleQueue waits in C: half the cost of a Condition, twice for every call.
        self._arrived: SimpleQueue[_Work[Any] | None] = SimpleQueue()
        #: What has arrived and waits, by who asked, in the order of their turns; nobody's row is empty. Belongs to the
        #: thread that takes.
        self._rows: dict[object, deque[_Work[Any]]] = {}
        self._in_rows = 0
        self._gate = threading.Lock()
        self._open = True

    def __len__(self) -> int:
        return self._arrived.qsize() + self._in_rows if self._open else 0

    @property
    def closed(self) -> bool:
        """Whether no work is taken any more."""
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
        work.future.set_exception(Stopped("The bridge has been stopped."))
        return work.future

    def take(self, timeout: float = 0.0, *, reading_only: bool = False) -> _Work[Any] | None:
        """The next piece of work; waits up to `timeout` seconds for one and gives None when none came.

        `reading_only` leaves work that changes something where it is, for a `take` without it.
        """
        while True:
            while (work := self._arrival(0.0)) is not None:
                self._line_up(work)
            work = self._next_turn(reading_only)
            if work is not None:
                return work
            work = self._arrival(timeout)
            if work is None:
                return None
            self._line_up(work)
            timeout = 0.0

    def _arrival(self, timeout: float) -> _Work[Any] | None:
        try:
            return self._arrived.get(timeout > 0.0, timeout)
        except Empty:
            return None

    def _line_up(self, work: _Work[Any]) -> None:
        self._rows.setdefault(work.asker, deque()).append(work)
        self._in_rows += 1

    def _next_turn(self, reading_only: bool) -> _Work[Any] | None:
        for who, row in self._rows.items():
            work = next((one for one in row if not (reading_only and one.changes)), None)
            if work is None:
                continue
            row.remove(work)
            self._in_rows -= 1
            del self._rows[who]
            if row:
                self._rows[who] = row  # behind the others
            return work
        return None

    def close(self) -> None:
        """Take no more work; what still waits is answered with Stopped. Call it where work is taken."""
        with self._gate:
            self._open = False
        while (work := self.take()) is not None:
            if work.future.set_running_or_notify_cancel():
                work.future.set_exception(Stopped(f"The bridge was stopped before {work.label} began."))
        self._arrived.put(None)  # whoever waits looks up


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
    """Have Blender's main thread call `do`; the future gets its result or whatever it raised.

    `changes`: whether it may change anything in Blender. Such work waits while the user is in the
    middle of an operation (moving an object, say) or a render runs; reading goes on.
    `deadline`: `time.monotonic()` at which work that has not begun is given up with Busy.
    `cancelled`: looked at before the work begins; set means Cancelled.
    After `stop` the future holds Stopped. Safe to call from any thread; on the main thread itself
    waiting for the future would never end.
    """
    return _queue.submit(do, changes=changes, deadline=deadline, cancelled=cancelled, label=label)


def waiting() -> int:
    """How many pieces of work wait for the main thread."""
    return len(_queue)


def start() -> None:
    """Begin to take work. Call on the main thread. With a window this registers the timer."""
    import bpy

    global _queue
    if not _queue.closed:
        return
    _queue = Queue()
    if not bpy.app.background:
        ticker = _Ticker(_queue)
        bpy.app.timers.register(ticker.tick, first_interval=0.0, persistent=True)


def stop() -> None:
    """Take no more work; what waits is answered with Stopped, the timer ends with its next tick."""
    _queue.close()


def pump(keep_going: Callable[[], bool]) -> None:
    """Do work as it comes until `keep_going` says no or the queue is stopped: the main loop without a window.

    `keep_going` is asked after each piece of work and at least every 0.2 s, so that a flag set by a signal
    handler is seen on every platform.
    """
    clock = _Clock()
    while not _queue.closed and keep_going():
        clock.look()
        work = _queue.take(_PUMP_INTERVAL)
        if work is not None:
            work.perform()


class _Clock:
    """Tells `regularly` that another second is over."""

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
    """The timer of a Blender with a window: how long it works, and when it wants to come back."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._last_work = 0.0
        self._last_end = time.perf_counter()
        self._event_timer: tuple[Any, int] | None = None
        self._clock = _Clock()

    def tick(self) -> float | None:
        """Called by Blender's main loop. Gives the seconds until the next call, None when it is over."""
        queue = self._queue
        if queue.closed:
            self._slow_down()
            return None
        self._clock.look()
        begin = time.perf_counter()
        if queue:
            self._work(begin + max(_MIN_BUDGET, (begin - self._last_end) / 2))
        self._last_end = time.perf_counter()
        if self._last_end - self._last_work < _BURST:
            self._speed_up()
            return 0.0
        self._slow_down()
        return _IDLE_INTERVAL

    def _work(self, until: float) -> None:
        linger = 0.0
        while True:
            work = self._queue.take(linger, reading_only=_user_is_busy())
            if work is None:
                return
            work.perform()
            self._last_work = now = time.perf_counter()
            if now >= until:
                return
            linger = min(_LINGER, until - now)

    def _speed_up(self) -> None:
        """Keep the main loop turning: without an event it sleeps 5 ms a turn."""
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
        # A window that was closed has taken its timer along; touching it then would crash.
        if any(window.as_pointer() == pointer for window in bpy.context.window_manager.windows):
            bpy.context.window_manager.event_timer_remove(timer)


def _user_is_busy() -> bool:
    """Whether a change now would get into the way of a render or of what the user is in the middle of.

    Modal operators written in Python are left out: add-ons keep such operators running for good.
    """
    import bpy

    if bpy.app.is_job_running("RENDER"):
        return True
    return any(
        bpy.types.Operator.bl_rna_get_subclass_py(operator.bl_idname) is None
        for window in bpy.context.window_manager.windows
        for operator in window.modal_operators
    )
