# SPDX-License-Identifier: GPL-3.0-or-later
"""The one signal that matters to a program that serves: whoever listens may go away while it is written to.

Python ignores SIGPIPE, and a write then raises BrokenPipeError. Some Blenders (4.3, for one) bring their Python up
without its signal handlers: there a client that went away at the wrong moment, or a rehearsal that died, ended Blender
at once and without a word.
"""

from __future__ import annotations

import signal

__all__ = ("register", "unregister")


def register() -> None:
    """Ignore SIGPIPE, as Python does wherever it runs on its own. Windows knows no such signal."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def unregister() -> None:
    """It stays ignored, as in newer Blenders: other extensions that write meanwhile are better off with it, too."""
