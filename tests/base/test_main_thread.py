# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.base.main_thread import Busy, Cancelled, Queue, Stopped


def _perform_all(queue: Queue) -> None:
    while (work := queue.take()) is not None:
        work.perform()


def test_work_is_done_in_order_and_errors_belong_to_who_asked() -> None:
    queue, order = Queue(), []
    first = queue.submit(lambda: order.append(1))
    failing = queue.submit(lambda: 1 / 0)
    leaving = queue.submit(lambda: exec("raise SystemExit(3)"))
    last = queue.submit(lambda: order.append(2) or "done")
    _perform_all(queue)
    assert order == [1, 2]
    assert first.result(0) is None
    assert last.result(0) == "done"
    assert isinstance(failing.exception(0), ZeroDivisionError)
    assert isinstance(leaving.exception(0), SystemExit)


def test_cancelled_and_overdue_work_is_never_begun() -> None:
    queue, flag, done = Queue(), threading.Event(), []
    flag.set()
    cancelled = queue.submit(lambda: done.append(1), cancelled=flag, label="render_image")
    overdue = queue.submit(lambda: done.append(2), deadline=time.monotonic() - 1, label="render_image")
    withdrawn = queue.submit(lambda: done.append(3))
    withdrawn.cancel()
    _perform_all(queue)
    assert done == []
    assert str(cancelled.exception(0)) == "render_image was cancelled before it began"
    assert isinstance(cancelled.exception(0), Cancelled)
    assert str(overdue.exception(0)) == "Blender was busy, so render_image was not begun in time"
    assert isinstance(overdue.exception(0), Busy)
    assert withdrawn.cancelled()


def test_reading_goes_on_while_changes_wait() -> None:
    queue, order = Queue(), []
    queue.submit(lambda: order.append("change"))
    queue.submit(lambda: order.append("read"), changes=False)
    work = queue.take(reading_only=True)
    assert work is not None
    work.perform()
    assert queue.take(reading_only=True) is None
    assert order == ["read"]
    _perform_all(queue)
    assert order == ["read", "change"]


def test_who_asks_for_much_takes_turns_with_who_asks_for_little() -> None:
    queue, order = Queue(), []

    def ask(who: str, count: int) -> None:
        main_thread.asker.set(who)
        for number in range(count):
            queue.submit(partial(order.append, f"{who}{number}"))

    for who, count in (("flood", 100), ("a", 2), ("b", 1)):
        copy_context().run(ask, who, count)
    work = queue.take()
    assert work is not None
    work.perform()
    copy_context().run(ask, "late", 1)
    _perform_all(queue)
    assert order[:7] == ["flood0", "a0", "b0", "flood1", "late0", "a1", "flood2"]
    assert order[7:] == [f"flood{number}" for number in range(3, 100)]
    assert len(queue) == 0


def test_closing_answers_what_waits_and_what_comes_later() -> None:
    queue = Queue()
    waiting = queue.submit(lambda: 1, label="get_scene_info")
    queue.close()
    late = queue.submit(lambda: 2)
    assert str(waiting.exception(0)) == "MCP Bridge was stopped before get_scene_info began."
    assert isinstance(late.exception(0), Stopped)
    assert len(queue) == 0


def test_take_waits_for_work_from_another_thread() -> None:
    queue = Queue()
    threading.Timer(0.05, lambda: queue.submit(lambda: "late")).start()
    work = queue.take(5.0)
    assert work is not None
    begin = time.monotonic()
    assert queue.take(0.05) is None
    assert time.monotonic() - begin >= 0.04


@pytest.fixture
def running() -> Iterator[None]:
    main_thread.start()
    yield
    main_thread.stop()


def test_pump_does_the_work_of_other_threads_on_the_main_thread(running: None) -> None:
    futures: list[object] = []

    def ask() -> None:
        for _ in range(100):
            futures.append(main_thread.run(threading.current_thread).result(5))
        main_thread.stop()

    asking = threading.Thread(target=ask)
    asking.start()
    main_thread.pump(lambda: True)
    asking.join()
    assert futures == [threading.main_thread()] * 100


def test_pump_ends_when_told_and_can_start_again(running: None) -> None:
    begin = time.monotonic()
    main_thread.pump(lambda: time.monotonic() < begin + 0.3)
    assert time.monotonic() - begin < 2
    main_thread.stop()
    assert isinstance(main_thread.run(lambda: 1).exception(0), Stopped)
    main_thread.start()
    future = main_thread.run(lambda: 1)
    assert main_thread.waiting() == 1
    main_thread.pump(lambda: not future.done())
    assert future.result(0) == 1


@pytest.mark.parametrize(("pause_s", "waits"), [(-1.0, True), (main_thread._DRAWING * 2, False)])
def test_a_tick_waits_for_the_next_call_only_while_blender_does_not_draw(
    monkeypatch: pytest.MonkeyPatch, pause_s: float, waits: bool
) -> None:
    """The main loop draws where it was away for long; a wait would make each picture of an animation later."""
    queue = main_thread.Queue()
    waited: list[float] = []
    take = queue.take

    def noted(timeout: float = 0.0, *, reading_only: bool = False) -> Any:
        waited.append(timeout)
        return take(0.0, reading_only=reading_only)

    monkeypatch.setattr(queue, "take", noted)
    monkeypatch.setattr(main_thread, "_user_is_busy", lambda: False)
    ticker = main_thread._Ticker(queue)
    monkeypatch.setattr(ticker, "_speed_up", lambda: None)
    ticker._last_end = (
        time.perf_counter() - pause_s
    )  # in the future, no stall of the machine makes it long ago
    done = queue.submit(lambda: 5)
    assert ticker.tick() == 0.0
    assert done.result(0) == 5
    assert waited[0] == 0.0
    assert (waited[1] > 0.0) == waits
