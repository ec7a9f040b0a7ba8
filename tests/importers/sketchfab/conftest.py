# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.services.sketchfab import TOKEN, SketchfabServer


@pytest.fixture
def server(files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SketchfabServer]:
    with SketchfabServer(files) as started:
        monkeypatch.setenv("BLENDER_MCP_SKETCHFAB_API", started.base)
        monkeypatch.setenv("BLENDER_MCP_SKETCHFAB_TOKEN", TOKEN)
        yield started
