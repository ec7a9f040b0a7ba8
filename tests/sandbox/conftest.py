# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of scripts share: `pytestmark = pytest.mark.usefixtures("fresh_file")`."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running.warm import warm


@pytest.fixture
def fresh_file() -> Iterator[None]:
    """Blender's own start-up file, and no run counted yet."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    execute._rate.clear()
    yield
    execute._rate.clear()


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    """Hundreds of tests run scripts in forks of this Blender, and none of these has to load what scripts need."""
    warm()
