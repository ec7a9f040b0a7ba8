# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the timers of the panel Assets by hand: without a window they do not fire."""

from __future__ import annotations

import time
from collections.abc import Callable

from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.operators.assets import asset_view

__all__ = ("settle",)


def settle(until: Callable[[], bool] = lambda: asset_view._busy == 0) -> None:
    """Turn the timers until nothing is under way."""
    end = time.monotonic() + 30
    while True:
        asset_view._tick()
        if until():
            return
        assert time.monotonic() < end
        _pump_once()


def _pump_once() -> None:
    """Do what waits for the main thread, and no more."""
    left = [main_thread.run(lambda: None)]
    main_thread.pump(lambda: not left[0].done())
    time.sleep(0.01)
