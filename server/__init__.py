# SPDX-License-Identifier: GPL-3.0-or-later
"""From the socket to the tool: access, discovery, the protocol, its transports and the tools."""

from __future__ import annotations

import sys

from .. import approvals
from ..base import jobs, main_thread
from ..sandbox import confinement


def register() -> None:
    """Nothing is served before `bridge.start`."""


def unregister() -> None:
    """The extension is being disabled, or Blender closes: end the server, and all work, whoever began it."""
    bridge = sys.modules.get(f"{__name__}.bridge")  # not imported: never started
    if bridge is not None:
        bridge.stop()
        approvals.close()
    main_thread.stop()
    jobs.registry.cancel_all()
    confinement.shutdown()
