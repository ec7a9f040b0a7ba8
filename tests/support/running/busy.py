# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that work on Python objects without a break: what Blender does without the interpreter's lock meets them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from bl_ext.user_default.mcp_bridge.base.process import threads

__all__ = ("start",)


def start() -> None:
    """Start two of them, for as long as the process lives; they pause when they are asked to."""
    sys.setswitchinterval(0.0005)
    for _ in range(2):
        threading.Thread(target=_work, daemon=True).start()


def _work() -> None:
    asked: list[Callable[[], None]] = []
    with threads.pausable(asked.append):
        while True:
            {str(number): [str(number)] * 3 for number in range(200)}
            while asked:
                asked.pop()()
