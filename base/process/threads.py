# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the extension's threads, and wait for them when the extension ends, before Blender frees its data.

When Blender quits, it unregisters its extensions, frees its data, and Python freezes the remaining threads. A thread of
ours that still ran crashed every fifth quit in the middle of a rehearsal. Two threads are not waited for here: the
listener's, since the code that stops it waits for it, and the watchdog's, which uses nothing of Blender.

These two run no matter what the main thread does, so this module can make them pause.
"""

from __future__ import annotations

import logging
import operator
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

__all__ = ("Worker", "call", "pausable", "paused", "register", "start", "unregister", "wait")

T = TypeVar("T")

_log = logging.getLogger(__name__)

#: Seconds that closing Blender may wait for all threads. The work that they wait for has ended before.
_LONGEST_END_S = 5.0
#: Seconds that the main thread waits for all threads to pause: one of them may be reading a large message.
_LONGEST_STEP_S = 2.0

CallSoon = Callable[[Callable[[], None]], object]
"""Has a certain thread call a function soon. Any thread may use it, as asyncio's `call_soon_threadsafe`."""

_pausable: list[CallSoon] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pausable.clear)  # a forked process has none of these threads


class Worker(threading.Thread):
    """A thread of the extension. It is a daemon, so that a thread that never ends cannot keep Blender from quitting."""

    def __init__(self, work: Callable[..., object], *arguments: object, name: str) -> None:
        super().__init__(target=work, args=arguments, name=f"mcp_bridge {name}", daemon=True)


def start(work: Callable[..., object], *arguments: object, name: str) -> Worker:
    """Call `work(*arguments)` in a thread of its own."""
    worker = Worker(work, *arguments, name=name)
    worker.start()
    return worker


def call(work: Callable[..., T], *arguments: object, name: str) -> futures.Future[T]:
    """Call `work(*arguments)` in a thread of its own, in this context, and return a future of what it returns.

    It begins at once, however many long calls wait in the threads of `asyncio.to_thread`.
    """
    outcome: futures.Future[T] = futures.Future()

    def settle() -> None:
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            outcome.set_result(work(*arguments))
        except BaseException as error:
            outcome.set_exception(error)

    start(copy_context().run, settle, name=name)
    return outcome


def wait(seconds: float) -> list[str]:
    """Wait up to `seconds` for all workers to end; returns the names of those that still run."""
    until = time.monotonic() + seconds
    while workers := _workers():
        if time.monotonic() >= until:
            return [worker.name for worker in workers]
        workers[0].join(max(0.0, min(0.1, until - time.monotonic())))
    return []


@contextmanager
def pausable(call_soon: CallSoon) -> Iterator[None]:
    """Inside this context, `paused` can pause the calling thread; it reaches the thread through `call_soon`."""
    _pausable.append(call_soon)
    try:
        yield
    finally:
        _pausable.remove(call_soon)


@contextmanager
def paused() -> Iterator[None]:
    """Keep the pausable threads from running any Python. Raises RuntimeError if one does not pause in time."""
    stays = [_Stay(call_soon) for call_soon in tuple(_pausable)]
    until = time.monotonic() + _LONGEST_STEP_S
    try:
        if not all(stay.begin(until) for stay in stays):
            raise RuntimeError(
                f"a thread of MCP Bridge was at work for more than {_LONGEST_STEP_S:g} s, and beside it Blender could "
                "crash in an operator within temp_override(): call it again"
            )
        yield
    finally:
        for stay in stays:
            stay.end()


def register() -> None:
    """Do nothing: `start` starts each thread."""


def unregister() -> None:
    """Wait for the threads, which other modules have already asked to end."""
    if left := wait(_LONGEST_END_S):
        _log.warning("these threads did not end in time: %s", ", ".join(left))


class _Stay:
    """One thread's pause. It uses plain locks: waiting for one runs no Python code."""

    def __init__(self, call_soon: CallSoon) -> None:
        self._here = threading.Lock()
        self._over = threading.Lock()
        self._here.acquire()
        self._over.acquire()
        try:
            call_soon(self._stay)
        except RuntimeError:  # asyncio raises this when its loop is closed
            self._here.release()

    def _stay(self) -> None:
        # One call into C does both. Between two calls Python may hand the interpreter to the main thread, and would
        # run the second one beside it, where the pause has begun.
        both: tuple[Callable[[], object], ...] = (self._here.release, self._over.acquire)
        deque(map(operator.call, both), maxlen=0)

    def begin(self, until: float) -> bool:
        """Wait for the thread to pause; return whether it has, or has ended."""
        return self._here.acquire(timeout=max(0.0, until - time.monotonic()))

    def end(self) -> None:
        self._over.release()


def _workers() -> list[threading.Thread]:
    # Python's own list: no list of ours, so a forked Blender has nothing to clear.
    return [
        thread
        for thread in threading.enumerate()
        if isinstance(thread, Worker) and thread is not threading.current_thread()
    ]
