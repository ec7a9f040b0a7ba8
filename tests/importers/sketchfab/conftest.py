# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.importers.cache import Cache
from bl_ext.user_default.mcp_bridge.importers.work import Work

from support.sketchfab import TOKEN, SketchfabServer


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sketchfab")


@pytest.fixture
def server(files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SketchfabServer]:
    with SketchfabServer(files) as started:
        monkeypatch.setenv("BLENDER_MCP_SKETCHFAB_API", started.base)
        monkeypatch.setenv("BLENDER_MCP_SKETCHFAB_TOKEN", TOKEN)
        yield started


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(Cache(tmp_path / "cache", quota=10**9))
