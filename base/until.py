# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting, on the network's loop, for what other threads change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

__all__ = ("until",)


async def until(
    listen: Callable[[Callable[[Any], None]], Callable[[], None]], holds: Callable[[], bool]
) -> None:
    """Return once `holds()`, which is asked at once and whenever a listener has been told something.

    listen: adds a listener that any thread may tell, and gives what ends it. A time-out is the caller's affair.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def told(_what: Any) -> None:
        loop.call_soon_threadsafe(changed.set)

    stop = listen(told)
    try:
        while not holds():
            await changed.wait()
            changed.clear()
    finally:
        stop()
