# SPDX-License-Identifier: GPL-3.0-or-later
"""Ignore SIGPIPE, the signal that a process gets when it writes to a connection that the other side has closed.

Python normally ignores SIGPIPE, and a write then raises BrokenPipeError. Some Blenders (4.3, for one) start Python
without its signal handlers: there a client that disconnected during a write, or a rehearsal that died, ended Blender
at once and without a message.
"""

from __future__ import annotations

import signal

__all__ = ("register", "unregister")


def register() -> None:
    """Ignore SIGPIPE, as a standalone Python does. Windows has no such signal."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def unregister() -> None:
    """Keep SIGPIPE ignored, as newer Blenders do: this also protects other extensions that write to connections."""
