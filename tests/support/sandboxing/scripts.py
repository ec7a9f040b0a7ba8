# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs scripts in this Blender as an assistant's scripts run, and returns their results."""

from __future__ import annotations

from typing import Any

from bl_ext.user_default.mcp_bridge.sandbox.run import execute

__all__ = ("result",)


def result(code: str) -> Any:
    """Return the `result` of a script, which need not import bpy."""
    return execute.execute_blender_code({"code": "import bpy\n" + code})["result"]
