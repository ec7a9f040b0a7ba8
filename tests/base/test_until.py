# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import threading

import pytest
from bl_ext.user_default.mcp_bridge.base.signal import Signal
from bl_ext.user_default.mcp_bridge.base.until import until


def test_a_condition_that_is_true_already_is_not_waited_for() -> None:
    listeners: Signal[[int]] = Signal()
    asyncio.run(asyncio.wait_for(until(listeners.connect, lambda: True), 10))
    assert not listeners._functions


def test_another_thread_changes_it() -> None:
    listeners: Signal[[int]] = Signal()
    seen: list[int] = []

    def change() -> None:
        for number in range(3):
            seen.append(number)
            listeners.emit(number)

    async def wait() -> None:
        threading.Timer(0.05, change).start()
        await asyncio.wait_for(until(listeners.connect, lambda: len(seen) == 3), 10)

    asyncio.run(wait())
    assert seen == [0, 1, 2]
    assert not listeners._functions


def test_what_changes_between_looking_and_listening_is_not_missed() -> None:
    listeners: Signal[[int]] = Signal()
    happened: list[int] = []

    def listen(listener: object) -> object:
        happened.append(1)  # just before anybody listens
        return listeners.connect(listener)  # type: ignore[arg-type]

    asyncio.run(asyncio.wait_for(until(listen, lambda: bool(happened)), 10))  # type: ignore[arg-type]
    assert happened == [1]


def test_a_cancelled_wait_stops_listening() -> None:
    listeners: Signal[[int]] = Signal()
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(until(listeners.connect, lambda: False), 0.05))
    assert not listeners._functions
