# SPDX-License-Identifier: GPL-3.0-or-later
"""From the socket to the tool: access, discovery, the protocol, its transports and the tools."""

from __future__ import annotations

import sys

from ..sandbox import review


def register() -> None:
    """Nothing is served before `bridge.start`."""


def unregister() -> None:
    """Stop a running server: the extension is being disabled, or Blender closes."""
    bridge = sys.modules.get(f"{__name__}.bridge")  # not imported: never started
    if bridge is not None:
        bridge.stop()
        review.close()
