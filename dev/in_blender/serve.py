# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside Blender, started by dev/run.py: serves until Ctrl-C or SIGTERM, with or without a window."""

from __future__ import annotations

import signal
import sys
from importlib import import_module

import bpy

_EXTENSION = "bl_ext.user_default.mcp_bridge"
_INTERVAL = 0.2


def _serve_without_window() -> None:
    import addon_utils

    addon_utils.enable(_EXTENSION, default_set=True)  # the bpy module starts with factory settings
    sys.exit(import_module(f"{_EXTENSION}.server.command_line").run(sys.argv[1:]))


def _serve_with_window() -> None:
    """Start the server and return to Blender's main loop; a signal closes Blender as its menu does."""
    came: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: came.append(received))

    def close_when_asked() -> float:
        if came:
            with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
                bpy.ops.wm.quit_blender()
        return _INTERVAL

    bpy.app.timers.register(close_when_asked, persistent=True)
    bridge = import_module(f"{_EXTENSION}.server.bridge")
    command_line = import_module(f"{_EXTENSION}.server.command_line")
    print(command_line.greeting(bridge.start()), flush=True)


if bpy.app.background:
    _serve_without_window()
else:
    _serve_with_window()
