# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts that run in this Blender as an assistant's do, and what they give."""

from __future__ import annotations

from typing import Any

from bl_ext.user_default.mcp_bridge.sandbox.run import execute

__all__ = ("result",)


def result(code: str) -> Any:
    """The `result` of a script, which need not import bpy."""
    return execute.execute_blender_code({"code": "import bpy\n" + code})["result"]
