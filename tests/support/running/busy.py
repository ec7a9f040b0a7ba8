# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps threads busy with Python objects, to meet what Blender does without the interpreter's lock."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from bl_ext.user_default.mcp_bridge.base.process import threads

__all__ = ("start",)


def start() -> None:
    """Start two such threads, for as long as the process lives; they pause on request."""
    sys.setswitchinterval(0.0005)
    for _ in range(2):
        pausable = threading.Event()
        threading.Thread(target=_work, args=(pausable,), daemon=True).start()
        pausable.wait()


def _work(pausable: threading.Event) -> None:
    asked: list[Callable[[], None]] = []
    with threads.pausable(asked.append):
        pausable.set()
        while True:
            {str(number): [str(number)] * 3 for number in range(200)}
            while asked:
                asked.pop()()
