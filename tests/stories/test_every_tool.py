# SPDX-License-Identifier: GPL-3.0-or-later
"""The official client calls every tool at least once, over a real socket."""

from __future__ import annotations

from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.server.tools import all_tools

from support.bridges.serving import serving
from support.clients import every_tool


def test_the_official_client_calls_every_tool(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    named = tmp_path / "named"
    named.mkdir()
    online = "bpy.context.preferences.system.use_online_access = True"
    with (
        every_tool.services(tmp_path_factory.getbasetemp()) as services,
        serving(
            tmp_path, before=online, BLENDER_MCP_FOLDERS=str(named), **every_tool.CHOICES, **services
        ) as served,
    ):
        called = every_tool.tell(served)
    assert called == {one.name for one in all_tools()}
