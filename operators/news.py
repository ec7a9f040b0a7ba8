# SPDX-License-Identifier: GPL-3.0-or-later
"""Show a new request in the panel at once, not only with the next regular refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base import main_thread
from ..base.enabling import early
from . import state

if TYPE_CHECKING:
    from ..approvals.request import Entry

__all__ = ("register", "unregister")

#: Whether a refresh is already queued: many changes in a row need only one.
_asked = False


def _unlisten() -> None:
    """Replaced in `register` by the function that stops listening."""


def _changed(entry: Entry) -> None:
    """Queue a refresh. Any thread. A request without a question waits for the next regular refresh."""
    global _asked
    if entry.asks == "nobody" or _asked:
        return
    _asked = True
    main_thread.run(_look, changes=False, label="the panel").add_done_callback(_answered)


def _answered(_future: object) -> None:
    """The refresh is done, or the main thread takes no more work."""
    global _asked
    _asked = False


def _look() -> None:
    global _asked
    _asked = False
    state.refresh()


def register() -> None:
    """Start to listen to changes of requests."""
    global _unlisten
    _unlisten = early.request_changed.connect(_changed)


def unregister() -> None:
    """Stop listening."""
    _unlisten()
