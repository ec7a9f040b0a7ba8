# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.importers.polyhaven.api import PolyHaven
from bl_ext.user_default.mcp_bridge.importers.work import Work

from support.services.polyhaven import PolyHavenServer


@pytest.fixture
def server(files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PolyHavenServer]:
    with PolyHavenServer(files) as started:
        monkeypatch.setenv("BLENDER_MCP_POLYHAVEN_API", started.url)
        yield started


@pytest.fixture
def service(server: PolyHavenServer, work: Work) -> PolyHaven:
    return PolyHaven(work.cache)
