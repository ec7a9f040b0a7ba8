# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's threads: started here, and waited for when the extension ends, while Blender is still whole.

Blender ends its extensions before it frees what it is made of, and Python stops the threads that are left where they
are: a thread of ours that went on meanwhile crashed every fifth end in the middle of a rehearsal. Two are not among
them: the listener's, which whoever stops it waits for, and the watchdog's, which touches nothing of Blender's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

__all__ = ("Worker", "register", "start", "unregister", "wait")

_log = logging.getLogger(__name__)

#: Seconds that closing Blender may wait for all of them. What they wait for was ended before.
_LONGEST_END_S = 5.0


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


def register() -> None:
    """Nothing runs before somebody starts it."""


def unregister() -> None:
    """Everything was told to end: wait until it has."""
    if left := wait(_LONGEST_END_S):
        _log.warning("these threads did not end in time: %s", ", ".join(left))


def _workers() -> list[threading.Thread]:
    # Nothing of our own to keep, and so nothing that a forked Blender would have to forget.
    return [
        thread
        for thread in threading.enumerate()
        if isinstance(thread, Worker) and thread is not threading.current_thread()
    ]
