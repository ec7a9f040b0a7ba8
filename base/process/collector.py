# SPDX-License-Identifier: GPL-3.0-or-later
"""Switch Python's garbage collector off while at least one caller needs that."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

__all__ = ("off",)

_lock = threading.Lock()
_users = 0
_was_on = True


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Keep the garbage collector off inside this context. Contexts may overlap; it is on again after the last one."""
    global _users, _was_on
    with _lock:
        if not _users:
            _was_on = gc.isenabled()
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users and _was_on:
                gc.enable()
