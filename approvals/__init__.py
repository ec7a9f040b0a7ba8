# SPDX-License-Identifier: GPL-3.0-or-later
"""Take a request from an assistant's text to a run, and record who approved it.

`pipeline` takes a request through the modules of `steps`. The queue and its store do not use Blender.
"""

from __future__ import annotations

from ..base.enabling import early
from ..base.errors import PolicyError
from .approval_queue import ApprovalQueue
from .store import Store

__all__ = ("close", "current", "expire", "open_queue", "queue", "store")

_queue: ApprovalQueue | None = None
_store: Store | None = None


def open_queue(kept: Store) -> ApprovalQueue:
    """The approval queue of this Blender. The first call makes it, with the requests of earlier Blenders in `kept`."""
    global _queue, _store
    if _queue is None:
        _store = kept
        _queue = ApprovalQueue(kept.keep)
        _queue.listen(early.request_changed.emit)
        _queue.recall(kept.load(), "Blender was closed before anybody answered")
    return _queue


def current() -> ApprovalQueue | None:
    """The queue, or None before `open_queue`."""
    return _queue


def queue() -> ApprovalQueue:
    """The approval queue of this Blender. Raises PolicyError before the server has started."""
    if _queue is None:
        raise PolicyError(
            "MCP Bridge's server does not run, so nobody can approve anything: press Start in the tab MCP",
            code="confirm",
        )
    return _queue


def store() -> Store | None:
    """The store that keeps the queue's requests."""
    return _store


def expire() -> None:
    """Expire the open requests, since the server stops."""
    if _queue is not None:
        _queue.expire("MCP Bridge was stopped before anybody answered")


def close() -> None:
    """Expire the open requests and drop the queue; trust ends, and only the files of requests stay."""
    global _queue, _store
    expire()
    _queue = _store = None
