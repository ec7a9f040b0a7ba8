# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.importers.hyper3d import importing
from bl_ext.user_default.mcp_bridge.importers.hyper3d.orders import Orders

from support.services.rodin import KEY, RodinServer


@pytest.fixture
def server(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RodinServer]:
    with RodinServer(files) as started:
        monkeypatch.setenv("BLENDER_MCP_HYPER3D_API", started.url)
        monkeypatch.setenv("BLENDER_MCP_FAL_API", started.url)
        monkeypatch.setenv("BLENDER_MCP_HYPER3D_KEY", KEY)
        monkeypatch.setenv("BLENDER_MCP_FAL_KEY", KEY)
        monkeypatch.setattr(importing, "orders", lambda: Orders(tmp_path / "rodin"))
        yield started
