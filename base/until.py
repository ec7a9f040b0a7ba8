# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait on the event loop until other threads have changed something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

__all__ = ("until",)


async def until(
    listen: Callable[[Callable[[Any], None]], Callable[[], None]], holds: Callable[[], bool]
) -> None:
    """Return when `holds()` is true. It is checked at once, and again each time that the listener is called.

    listen: adds a listener that any thread may call, and returns a function that removes it. The caller sets a
    time-out if it needs one.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def wake(_what: Any) -> None:
        loop.call_soon_threadsafe(changed.set)

    stop = listen(wake)
    try:
        while not holds():
            await changed.wait()
            changed.clear()
    finally:
        stop()
