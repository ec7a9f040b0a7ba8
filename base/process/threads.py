# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's threads: started here, and waited for when the extension ends, while Blender is still whole.

Blender ends its extensions before it frees what it is made of, and Python stops the threads that are left where they
are: a thread of ours that went on meanwhile crashed every fifth end in the middle of a rehearsal. Two are not among
them: the listener's, which whoever stops it waits for, and the watchdog's, which touches nothing of Blender's.

These two go on whatever happens on the main thread, and so they can be made to pause.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ("Worker", "pausable", "paused", "register", "start", "unregister", "wait")

_log = logging.getLogger(__name__)

#: Seconds that closing Blender may wait for all of them. What they wait for was ended before.
_LONGEST_END_S = 5.0
#: Seconds that the main thread waits for one that shall pause: it may be reading a large message just then.
_LONGEST_STEP_S = 0.2

CallSoon = Callable[[Callable[[], None]], object]
"""Has a function called on a certain thread, soon. Called from any thread, as asyncio's `call_soon_threadsafe` is."""

_pausable: list[CallSoon] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pausable.clear)  # a fork takes none of these threads along


class Worker(threading.Thread):
    """A thread of ours. A daemon: what never ends must not keep Blender from ending."""

    def __init__(self, work: Callable[..., object], *arguments: object, name: str) -> None:
        super().__init__(target=work, args=arguments, name=f"mcp_bridge {name}", daemon=True)


def start(work: Callable[..., object], *arguments: object, name: str) -> Worker:
    """Call `work(*arguments)` in a thread of its own."""
    worker = Worker(work, *arguments, name=name)
    worker.start()
    return worker


def wait(seconds: float) -> list[str]:
    """Wait until no worker is left, for `seconds` at most; gives the names of those that are."""
    until = time.monotonic() + seconds
    while workers := _workers():
        if time.monotonic() >= until:
            return [worker.name for worker in workers]
        workers[0].join(max(0.0, min(0.1, until - time.monotonic())))
    return []


@contextmanager
def pausable(call_soon: CallSoon) -> Iterator[None]:
    """The calling thread pauses when `paused` asks it to, through `call_soon`, until this context is left."""
    _pausable.append(call_soon)
    try:
        yield
    finally:
        _pausable.remove(call_soon)


@contextmanager
def paused() -> Iterator[None]:
    """Keep the pausable threads from running any Python. One that does not come in time is not waited for."""
    stays = [_Stay(call_soon) for call_soon in tuple(_pausable)]
    try:
        for stay in stays:
            stay.begin()
        yield
    finally:
        for stay in stays:
            stay.end()


def register() -> None:
    """Nothing runs before somebody starts it."""


def unregister() -> None:
    """Everything was told to end: wait until it has."""
    if left := wait(_LONGEST_END_S):
        _log.warning("these threads did not end in time: %s", ", ".join(left))


class _Stay:
    """One thread's pause. Bare locks: beside their own waiting, which needs no interpreter, hardly anything runs."""

    def __init__(self, call_soon: CallSoon) -> None:
        self._here = threading.Lock()
        self._over = threading.Lock()
        self._here.acquire()
        self._over.acquire()
        try:
            call_soon(self._stay)
        except RuntimeError:  # asyncio's word for a loop that has been closed
            self._here.release()

    def _stay(self) -> None:
        self._here.release()
        self._over.acquire()

    def begin(self) -> None:
        self._here.acquire(timeout=_LONGEST_STEP_S)

    def end(self) -> None:
        self._over.release()


def _workers() -> list[threading.Thread]:
    # Nothing of our own to keep, and so nothing that a forked Blender would have to forget.
    return [
        thread
        for thread in threading.enumerate()
        if isinstance(thread, Worker) and thread is not threading.current_thread()
    ]
