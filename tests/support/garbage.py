# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ("collections",)


@contextmanager
def collections() -> Iterator[list[str]]:
    """Give a list that gets an entry for each collection in this context, which many new objects soon begin."""
    began: list[str] = []

    def watch(phase: str, _details: dict[str, int]) -> None:
        if phase == "start":
            began.append(phase)

    before = gc.get_threshold()
    gc.collect()
    gc.callbacks.append(watch)
    gc.set_threshold(100, 10, 10)
    try:
        yield began
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(watch)
