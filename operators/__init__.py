# SPDX-License-Identifier: GPL-3.0-or-later
"""What a button does: each operator is a call into the rooms below."""

from __future__ import annotations

from . import assets, clients, following, news, request_lists, requests, server, state, target_jobs

__all__ = ("register", "unregister")

_PARTS = (server, clients, request_lists, requests, following, news, target_jobs, assets, state)


def register() -> None:
    """Register the operators, and begin to keep what the panels show up to date."""
    for part in _PARTS:
        part.register()


def unregister() -> None:
    """Undo `register`."""
    for part in reversed(_PARTS):
        part.unregister()
