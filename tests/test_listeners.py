# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that are told of changes."""

from __future__ import annotations

from bl_ext.user_default.mcp_bridge.listeners import Listeners


def test_each_is_told_in_order_until_it_ends() -> None:
    told: list[tuple[str, int]] = []
    listeners: Listeners[[int]] = Listeners()
    stop_first = listeners.add(lambda number: told.append(("first", number)))
    listeners.add(lambda number: told.append(("second", number)))
    listeners.tell(1)
    stop_first()
    stop_first()
    listeners.tell(2)
    listeners.clear()
    listeners.tell(3)
    assert told == [("first", 1), ("second", 1), ("second", 2)]


def test_the_same_function_twice_is_told_twice_and_ends_one_by_one() -> None:
    told: list[int] = []
    listeners: Listeners[[int]] = Listeners()
    stop = listeners.add(told.append)
    listeners.add(told.append)
    stop()
    listeners.tell(1)
    assert told == [1]


def test_a_listener_may_end_itself_while_it_is_told() -> None:
    told: list[str] = []
    listeners: Listeners[[]] = Listeners()

    def once() -> None:
        told.append("once")
        stop()

    stop = listeners.add(once)
    listeners.add(lambda: told.append("always"))
    listeners.tell()
    listeners.tell()
    assert told == ["once", "always", "always"]
