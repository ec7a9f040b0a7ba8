# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import threading

import pytest
from bl_ext.user_default.mcp_bridge.listeners import Listeners
from bl_ext.user_default.mcp_bridge.server.waiting import until


def test_what_holds_already_is_not_waited_for() -> None:
    listeners: Listeners[[int]] = Listeners()
    asyncio.run(asyncio.wait_for(until(listeners.add, lambda: True), 10))
    assert not listeners._functions


def test_another_thread_changes_it() -> None:
    listeners: Listeners[[int]] = Listeners()
    seen: list[int] = []

    def change() -> None:
        for number in range(3):
            seen.append(number)
            listeners.tell(number)

    async def wait() -> None:
        threading.Timer(0.05, change).start()
        await asyncio.wait_for(until(listeners.add, lambda: len(seen) == 3), 10)

    asyncio.run(wait())
    assert seen == [0, 1, 2]
    assert not listeners._functions


def test_what_changes_between_looking_and_listening_is_not_missed() -> None:
    listeners: Listeners[[int]] = Listeners()
    happened: list[int] = []

    def listen(listener: object) -> object:
        happened.append(1)  # just before anybody listens
        return listeners.add(listener)  # type: ignore[arg-type]

    asyncio.run(asyncio.wait_for(until(listen, lambda: bool(happened)), 10))  # type: ignore[arg-type]
    assert happened == [1]


def test_who_gives_up_listens_no_more() -> None:
    listeners: Listeners[[int]] = Listeners()
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(until(listeners.add, lambda: False), 0.05))
    assert not listeners._functions
