# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds ports for test servers."""

from __future__ import annotations

import socket

__all__ = ("free_port", "is_open")


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_open(port: int) -> bool:
    """Return whether something accepts connections on 127.0.0.1:`port`."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
