# SPDX-License-Identifier: GPL-3.0-or-later
"""A request's way from an assistant's text to a run, and who said yes to it.

Only `consent` and `pipeline` know Blender: the desk and what it keeps do not.
"""

from __future__ import annotations

from .desk import Desk
from .store import Store

__all__ = ("close", "current", "open_desk", "store")

_desk: Desk | None = None
_store: Store | None = None


def open_desk(kept: Store) -> Desk:
    """The desk of this Blender, made at the first call with what `kept` has of earlier Blenders."""
    global _desk, _store
    if _desk is None:
        _store = kept
        _desk = Desk(kept.keep)
        _desk.recall(kept.load(), "Blender was closed before anybody answered")
    return _desk


def current() -> Desk | None:
    """The desk, or None as long as nothing could have been asked."""
    return _desk


def store() -> Store | None:
    """Where the desk keeps its requests."""
    return _store


def close() -> None:
    """Forget everything that is not on disk: trust, and requests, which have expired."""
    global _desk, _store
    if _desk is not None:
        _desk.expire("the bridge was closed")
    _desk = _store = None
