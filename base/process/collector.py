# SPDX-License-Identifier: GPL-3.0-or-later
"""Python's garbage collector, switched off for as long as anybody needs it to be."""

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
    """Nothing is collected meanwhile, whichever of several users ends first."""
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
