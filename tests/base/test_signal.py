# SPDX-License-Identifier: GPL-3.0-or-later
"""A signal: functions that are called when it emits."""

from __future__ import annotations

from bl_ext.user_default.mcp_bridge.base.signal import Signal


def test_each_is_told_in_order_until_it_ends() -> None:
    told: list[tuple[str, int]] = []
    listeners: Signal[[int]] = Signal()
    stop_first = listeners.connect(lambda number: told.append(("first", number)))
    listeners.connect(lambda number: told.append(("second", number)))
    listeners.emit(1)
    stop_first()
    stop_first()
    listeners.emit(2)
    listeners.clear()
    listeners.emit(3)
    assert told == [("first", 1), ("second", 1), ("second", 2)]


def test_the_same_function_twice_is_told_twice_and_ends_one_by_one() -> None:
    told: list[int] = []
    listeners: Signal[[int]] = Signal()
    stop = listeners.connect(told.append)
    listeners.connect(told.append)
    stop()
    listeners.emit(1)
    assert told == [1]


def test_a_listener_may_end_itself_while_it_is_told() -> None:
    told: list[str] = []
    listeners: Signal[[]] = Signal()

    def once() -> None:
        told.append("once")
        stop()

    stop = listeners.connect(once)
    listeners.connect(lambda: told.append("always"))
    listeners.emit()
    listeners.emit()
    assert told == ["once", "always", "always"]
