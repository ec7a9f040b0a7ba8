# SPDX-License-Identifier: GPL-3.0-or-later
"""Queues towards clients are bounded and keep their order."""

from __future__ import annotations

import asyncio

import pytest
from bl_ext.user_default.mcp_bridge.server.transport import outbox
from bl_ext.user_default.mcp_bridge.server.transport.outbox import Outbox, Stream


class Client:
    """Reads when it is let."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.aborted = 0
        self.reading = asyncio.Event()
        self.reading.set()

    def write_now(self, text: str) -> bool:
        if self.reading.is_set():
            self.read.append(text)
        return self.reading.is_set()

    async def write(self, text: str) -> None:
        await self.reading.wait()
        self.read.append(text)

    def abort(self) -> None:
        self.aborted += 1


def test_texts_arrive_in_order() -> None:
    async def run() -> list[str]:
        client = Client()
        box = Outbox(client.write_now, client.write, client.abort)
        for number in range(5):
            box.put(str(number))
            if number == 2:
                await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        box.put("5")
        await asyncio.sleep(0.01)
        return client.read

    assert asyncio.run(run()) == ["0", "1", "2", "3", "4", "5"]


def test_a_later_message_does_not_overtake_one_that_waits() -> None:
    async def run() -> list[str]:
        client = Client()
        box = Outbox(client.write_now, client.write, client.abort)
        box.put("0")
        assert client.read == ["0"]  # at once
        client.reading.clear()
        box.put("1")
        client.reading.set()
        box.put("2")
        await asyncio.sleep(0.01)
        box.put("3")
        return client.read

    assert asyncio.run(run()) == ["0", "1", "2", "3"]


def test_a_client_that_does_not_read_is_dropped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_WAITING", 100)

    async def run() -> tuple[int, list[str]]:
        client = Client()
        client.reading.clear()
        box = Outbox(client.write_now, client.write, client.abort)
        box.put("x" * 1000)  # one message may be larger than the bound
        await asyncio.sleep(0)
        for _ in range(30):
            box.put("y" * 10)
        client.reading.set()
        await asyncio.sleep(0.01)
        box.put("late")
        await asyncio.sleep(0.01)
        return client.aborted, client.read

    assert asyncio.run(run()) == (1, ["x" * 1000])


def test_a_stalled_client_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "STALL_SECONDS", 0.02)

    async def run() -> int:
        client = Client()
        client.reading.clear()
        Outbox(client.write_now, client.write, client.abort).put("x")
        await asyncio.sleep(0.1)
        return client.aborted

    assert asyncio.run(run()) == 1


def test_a_closed_box_writes_nothing_more() -> None:
    async def run() -> list[str]:
        client = Client()
        client.reading.clear()
        box = Outbox(client.write_now, client.write, client.abort)
        box.put("x")
        await asyncio.sleep(0)
        box.close()
        client.reading.set()
        await asyncio.sleep(0.01)
        return client.read

    assert asyncio.run(run()) == []


def test_a_kept_stream_can_be_read_again() -> None:
    async def run() -> None:
        stream = Stream("s", keep=True)
        stream.put("a")
        stream.put("b")
        assert stream.take(0) == [(1, "a"), (2, "b")]
        assert stream.take(1) == [(2, "b")]
        assert (stream.read_to, stream.end) == (2, 2)
        stream.put("c", final=True)
        stream.put("after the end")
        assert stream.take(0)[2:] == [(3, "c")]

    asyncio.run(run())


def test_a_stream_that_is_not_kept_forgets_what_was_read() -> None:
    async def run() -> None:
        stream = Stream()
        stream.put("a")
        assert stream.take(0) == [(1, "a")]
        assert (stream.take(0), stream.size, stream.end) == ([], 0, 1)
        stream.put("b")
        assert stream.take(1) == [(2, "b")]

    asyncio.run(run())


def test_bounds_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_WAITING", 10)

    async def run() -> None:
        kept = Stream("s", keep=True)
        for text in ("aaaa", "bbbb", "cccc"):
            kept.put(text)
        assert kept.take(0) == [(2, "bbbb"), (3, "cccc")]
        broken: list[bool] = []
        stream = Stream(on_break=lambda: broken.append(True))
        for text in ("aaaa", "bbbb", "cccc", "dddd"):
            stream.put(text)
        assert (stream.broken, broken, stream.take(0)) == (True, [True], [])

    asyncio.run(run())


def test_waiting_ends_with_news_an_end_a_release_or_the_time() -> None:
    async def run() -> None:
        for wake in (lambda s: s.put("a"), Stream.finish, Stream.release):
            stream = Stream("s", keep=True)
            waiting = asyncio.create_task(stream.wait(0, 10))
            await asyncio.sleep(0)
            wake(stream)
            await asyncio.wait_for(waiting, 1)
        stream.reopen()
        await asyncio.wait_for(stream.wait(0, 0.01), 1)
        assert not stream.released

    asyncio.run(run())
