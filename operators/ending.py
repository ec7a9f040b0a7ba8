# SPDX-License-Identifier: GPL-3.0-or-later
"""End the server and all work, because the extension is disabled or Blender closes."""

from __future__ import annotations

from ..base import jobs, main_thread
from ..base.enabling.late import loaded

__all__ = ("register", "unregister")


def register() -> None:
    """Do nothing: the button *Start* and the command start the server."""


def unregister() -> None:
    """End what runs; a room that was never loaded has started nothing."""
    if bridge := loaded("server.bridge"):
        bridge.stop()
    if approvals := loaded("approvals"):
        approvals.close()
    main_thread.stop()
    jobs.registry.cancel_all()
    if confinement := loaded("sandbox.confinement"):
        confinement.shutdown()
