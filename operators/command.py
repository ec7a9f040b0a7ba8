# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's command `-c mcp_bridge`: the server's modules are imported only when it runs."""

from __future__ import annotations

import bpy

__all__ = ("register", "unregister")

_COMMAND = "mcp_bridge"

_handle: object = None


def register() -> None:
    """Register the command with Blender's `--command`."""
    global _handle
    _handle = bpy.utils.register_cli_command(_COMMAND, _run)


def unregister() -> None:
    """Unregister the command."""
    global _handle
    bpy.utils.unregister_cli_command(_handle)
    _handle = None


def _run(arguments: list[str]) -> int:
    from ..server import command_line

    return command_line.run(arguments)
