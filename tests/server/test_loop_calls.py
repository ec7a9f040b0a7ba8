# SPDX-License-Identifier: GPL-3.0-or-later
"""What threads have the server's loop call."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.loop_calls import LoopCalls


def test_a_thousand_calls_of_a_thread_come_in_order_wake_the_loop_once_and_survive_an_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        loop, seen, done = asyncio.get_running_loop(), [], asyncio.Event()
        calls = LoopCalls(loop)

        def ask() -> None:
            for number in range(1000):
                calls.soon((lambda: 1 / 0) if number == 500 else partial(seen.append, number))
            calls.soon(done.set)

        woken: list[Any] = []
        wake = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *a, **k: (woken.append(a), wake(*a, **k)))
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()  # the loop cannot go on before this
        assert len(woken) == 1
        await asyncio.wait_for(done.wait(), 10)
        assert seen == [number for number in range(1000) if number != 500]
        assert "a call on the server's loop failed" in caplog.text

    asyncio.run(work())


def test_the_loops_own_thread_calls_at_once_and_another_one_never() -> None:
    async def work() -> list[str]:
        calls, seen = LoopCalls(asyncio.get_running_loop()), []
        calls.soon(seen.append, "at once")
        seen.append("then")
        calls.in_next_turn(partial(seen.append, "in the next turn"))
        seen.append("before it")
        await asyncio.sleep(0)
        return seen

    assert asyncio.run(work()) == ["at once", "then", "before it", "in the next turn"]


def test_after_the_loop_has_closed_nothing_waits_for_it() -> None:
    async def make() -> LoopCalls:
        return LoopCalls(asyncio.get_running_loop())

    calls = asyncio.run(make())
    calls.in_next_turn(pytest.fail)
    assert not calls._next
