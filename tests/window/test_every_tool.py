# SPDX-License-Identifier: GPL-3.0-or-later
"""The official client calls every tool of a Blender with its window: the artist's own program, not a module."""

from __future__ import annotations

import shutil

import pytest
from bl_ext.user_default.mcp_bridge.server.tools import all_tools

from support.bridges.serving import TOKEN, Served
from support.clients import every_tool
from support.on_screen import window as window_support
from support.running.ports import free_port

_FOLDER = window_support.FOLDER / "every-tool-files"


def test_the_official_client_calls_every_tool(tmp_path_factory: pytest.TempPathFactory) -> None:
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir(parents=True)
    port = free_port()
    with every_tool.services(tmp_path_factory.getbasetemp()) as services:
        env = {
            "BLENDER_PORT": str(port),
            "BLENDER_MCP_TOKEN": TOKEN,
            "BLENDER_MCP_FOLDERS": str(_FOLDER),
            **every_tool.CHOICES,
            **services,
        }
        with window_support.start("every-tool", env=env) as window:
            window.run("bpy.context.preferences.system.use_online_access = True")
            window.serve()
            called = every_tool.tell(Served(port, {}, 0))
            window.picture("every-tool")
    assert called == {one.name for one in all_tools()}
