# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens foreign files in a fork of this Blender: quicker than the confined process, which test_foreign.py tests."""

from __future__ import annotations

import json
from pathlib import Path

from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers.network import transport
from bl_ext.user_default.mcp_bridge.importers.opening import child

from support.running import fork

__all__ = ("in_fork",)


def in_fork(_here: object, _program: str, folder: Path, cancelled: transport.Flag | None) -> bytes:
    """Replace `importers.opening.confined.run`: same arguments, same answer, same errors."""
    try:
        report = main_thread.run(lambda: fork.run(child.main, folder)).result()
    except fork.Died:
        raise ExternalServiceError("The file could not be opened: the process died.") from None
    if cancelled is not None and cancelled.is_set():
        raise transport.Cancelled("Cancelled.")
    return json.dumps(report).encode()
