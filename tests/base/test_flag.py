# SPDX-License-Identifier: GPL-3.0-or-later
"""A cancellation is seen on other threads, and stays."""

from __future__ import annotations

import threading

from bl_ext.user_default.mcp_bridge.base.flag import Cancellation


def test_a_cancellation_of_one_thread_is_seen_on_another_and_stays() -> None:
    cancelled = Cancellation()
    assert not cancelled.is_set()
    thread = threading.Thread(target=cancelled.set)
    thread.start()
    thread.join()
    assert cancelled.is_set()
    cancelled.set()
    assert cancelled.is_set()
