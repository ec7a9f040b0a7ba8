# SPDX-License-Identifier: GPL-3.0-or-later
"""A request's way from an assistant's text to a run, and who said yes to it.

Only `consent` and `pipeline` know Blender: the queue and what it keeps do not.
"""

from __future__ import annotations

from .approval_queue import ApprovalQueue
from .store import Store

__all__ = ("close", "current", "open_queue", "store")

_queue: ApprovalQueue | None = None
_store: Store | None = None


def open_queue(kept: Store) -> ApprovalQueue:
    """The approval queue of this Blender, made at the first call with what `kept` has of earlier Blenders."""
    global _queue, _store
    if _queue is None:
        _store = kept
        _queue = ApprovalQueue(kept.keep)
        _queue.recall(kept.load(), "Blender was closed before anybody answered")
    return _queue


def current() -> ApprovalQueue | None:
    """The queue, or None as long as nothing could have been asked."""
    return _queue


def store() -> Store | None:
    """Where the queue keeps its requests."""
    return _store


def close() -> None:
    """Forget everything that is not on disk: trust, and requests, which have expired."""
    global _queue, _store
    if _queue is not None:
        _queue.expire("the bridge was closed")
    _queue = _store = None
