# SPDX-License-Identifier: GPL-3.0-or-later
"""A local server as the service, and Blender allowed online."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.importers.network import attempts
from bl_ext.user_default.mcp_bridge.importers.network.cache import Cache
from bl_ext.user_default.mcp_bridge.importers.network.transport import Site
from bl_ext.user_default.mcp_bridge.importers.opening import confined
from bl_ext.user_default.mcp_bridge.importers.work import Work

from support.services.opening import in_fork
from support.services.web import Web


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_BACKOFF_S", 0.02)


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
    return Site(
        "polyhaven", "Warehouse", "MCP_TEST_API", "https://api.warehouse.example", (".files.example",)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def _quick_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Foreign files are opened in a fork instead of a confined process, which opening/test_foreign.py tries."""
    monkeypatch.setattr(confined, "run", in_fork)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the services' files are, made once."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """An import with a cache of its own."""
    return Work(Cache(tmp_path / "cache", quota=10**9))
