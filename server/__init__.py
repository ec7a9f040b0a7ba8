# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCP server: access, discovery, the protocol, its transports and the tools."""

from __future__ import annotations

import sys

from .. import approvals
from ..base import jobs, main_thread
from ..sandbox import confinement


def register() -> None:
    """Do nothing: `bridge.start` starts the server."""


def unregister() -> None:
    """End the server and all work, because the extension is disabled or Blender closes."""
    bridge = sys.modules.get(f"{__name__}.bridge")  # the module is missing if the server was never started
    if bridge is not None:
        bridge.stop()
        approvals.close()
    main_thread.stop()
    jobs.registry.cancel_all()
    confinement.shutdown()
