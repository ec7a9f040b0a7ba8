# SPDX-License-Identifier: GPL-3.0-or-later
"""What threads have the server's loop call."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.loop_calls import LoopCalls


class _WithoutReaders(asyncio.SelectorEventLoop):
    """A loop that cannot watch a socket, such as Windows' default one."""

    def add_reader(self, *_: Any) -> Any:
        raise NotImplementedError

    def remove_reader(self, *_: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("loop_of", [asyncio.SelectorEventLoop, _WithoutReaders])
def test_a_thousand_calls_of_a_thread_come_in_order_wake_the_loop_once_and_survive_an_error(
    loop_of: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        loop, seen, done = asyncio.get_running_loop(), [], asyncio.Event()
        calls = LoopCalls(loop)

        def ask() -> None:
            for number in range(1000):
                calls.soon((lambda: 1 / 0) if number == 500 else partial(seen.append, number))
            calls.soon(done.set)

        woken: list[None] = []
        wake = calls._wake
        monkeypatch.setattr(calls, "_wake", lambda: (woken.append(None), wake()))
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()  # the loop cannot go on before this
        assert len(woken) == 1
        await asyncio.wait_for(done.wait(), 10)
        assert seen == [number for number in range(1000) if number != 500]
        assert "a call on the server's loop failed" in caplog.text
        calls.close()

    with asyncio.Runner(loop_factory=loop_of) as runner:
        runner.run(work())


def test_the_loops_own_thread_calls_at_once_and_another_one_never() -> None:
    async def work() -> list[str]:
        calls, seen = LoopCalls(asyncio.get_running_loop()), []
        calls.soon(seen.append, "at once")
        seen.append("then")
        calls.in_next_turn(partial(seen.append, "in the next turn"))
        seen.append("before it")
        await asyncio.sleep(0)
        calls.close()
        return seen

    assert asyncio.run(work()) == ["at once", "then", "before it", "in the next turn"]


def test_after_the_loop_has_closed_nothing_waits_for_it() -> None:
    async def make() -> LoopCalls:
        return LoopCalls(asyncio.get_running_loop())

    calls = asyncio.run(make())
    calls.in_next_turn(pytest.fail)
    assert not calls._next
    calls.close()


@pytest.mark.parametrize("loop_of", [asyncio.SelectorEventLoop, _WithoutReaders])
def test_what_comes_while_it_is_closed_is_called_all_the_same(loop_of: Any) -> None:
    async def work() -> None:
        calls, done = LoopCalls(asyncio.get_running_loop()), asyncio.Event()
        thread = threading.Thread(target=calls.soon, args=(done.set,))
        thread.start()
        thread.join()
        calls.close()  # before the loop has looked at the socket
        await asyncio.wait_for(done.wait(), 10)
        late = asyncio.Event()
        await asyncio.to_thread(calls.soon, late.set)
        await asyncio.wait_for(late.wait(), 10)
        calls.close()  # the server closes it before its loop ends, and when it ends

    with asyncio.Runner(loop_factory=loop_of) as runner:
        runner.run(work())
