# SPDX-License-Identifier: GPL-3.0-or-later
"""A local server as the service, and Blender allowed online."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.importers import download
from bl_ext.user_default.mcp_bridge.importers.download import Site

from support.web import Web


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_BACKOFF_S", 0.02)


@pytest.fixture(autouse=True)
def _online() -> Iterator[None]:
    """Blender is allowed online, as by the user's preference."""
    system = bpy.context.preferences.system
    before = system.use_online_access
    system.use_online_access = True
    yield
    system.use_online_access = before


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as server:
        yield server


@pytest.fixture
def site(web: Web, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A service of its own whose base URL the environment moves to the local server."""
    monkeypatch.setenv("MCP_TEST_API", web.url + "/")
    return Site("Warehouse", "MCP_TEST_API", "https://api.warehouse.example", (".files.example",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
