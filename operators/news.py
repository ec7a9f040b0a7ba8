# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows what a user is to decide as soon as it is there, and not with the next look at everything."""

from __future__ import annotations

from .. import approvals
from ..approvals.request import Entry
from ..base import main_thread
from . import state

__all__ = ("register", "unregister")

#: Whether the main thread is asked already to look: a burst of changes is one look.
_asked = False


def _unlisten() -> None:
    """Replaced by what ends the listening."""


def _changed(entry: Entry) -> None:
    """On whichever thread: what nobody is asked about is shown with the next look."""
    global _asked
    if entry.asks == "nobody" or _asked:
        return
    _asked = True
    main_thread.run(_look, changes=False, label="the panel").add_done_callback(_answered)


def _answered(_future: object) -> None:
    """It was looked, or the main thread takes no work any more."""
    global _asked
    _asked = False


def _look() -> None:
    global _asked
    _asked = False
    state.refresh()


def register() -> None:
    """Begin to listen to requests."""
    global _unlisten
    _unlisten = approvals.listen(_changed)


def unregister() -> None:
    """Listen no more."""
    _unlisten()
